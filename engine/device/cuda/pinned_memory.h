// Host memory that the GPU copies from and to at full speed: mapped in exact sizes, on huge pages where the system
// gives them, touched by all threads at once, then registered. cudaHostAlloc takes eight times as long and rounds sizes
// up.
#pragma once

#include "base/thread_pool.h"
#include "device/device.h"

namespace millrace {

struct PinnedMemory {
  void* data = nullptr;
  std::string notice; ///< why the driver did not register it, so that copies are slow; empty: it did
};

/// Zero-filled, for the current GPU. DoesNotFit names what the system refused. Memory that the driver refuses to
/// register is used as it is. advice may be empty. To be given back with releasePinned().
Result<PinnedMemory> allocatePinned(ThreadPool& pool, Bytes bytes, const std::string& purpose,
                                    const HostMemoryAdvice& advice);
void releasePinned(void* data, Bytes bytes, bool registered);

} // namespace millrace
