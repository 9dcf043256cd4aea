// The one thing that the runtime API does not offer, from the driver API: a stream that waits for a word in memory.
// Looked up at run time, so that programs start where there is no driver.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <cuda_runtime_api.h>

namespace millrace::cuda {

/// Whether streams of this device can wait for words; the error says what is missing.
Status checkWordWaits(int device);

/// Work submitted to the stream later starts after *word (pinned memory) is 1. Throws EngineException.
void waitForWord(cudaStream_t stream, const std::uint32_t* word);

} // namespace millrace::cuda
