// Host memory that the GPU copies from and to at full speed: mapped in exact sizes, on huge pages where the system
// gives them, touched by all threads at once, then registered. cudaHostAlloc takes eight times as long and rounds sizes
// up.
#pragma once

#include "base/result.h"
#include "base/thread_pool.h"
#include "base/units.h"

namespace millrace {

/// Zero-filled, for the current GPU. DoesNotFit names what the system refused; where it is the registering, the limits
/// that may be why. To be given back with releasePinned().
Result<void*> allocatePinned(ThreadPool& pool, Bytes bytes, const std::string& purpose);
void releasePinned(void* data, Bytes bytes);

} // namespace millrace
