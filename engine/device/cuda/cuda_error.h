// Failures of CUDA calls as the engine's errors: which call, what CUDA says of it, and what can be done.
#pragma once

#include "base/result.h"

#include <cuda_runtime_api.h>
#include <string>

namespace millrace::cuda {

/// doing: "the rmsNorm kernel", "a copy of 3.00 MiB"; says what was asked of the GPU when it failed.
Error cudaFailure(cudaError_t status, const std::string& doing);

/// Throws EngineException when the call failed.
inline void check(cudaError_t status, const char* doing) {
  if (status != cudaSuccess) throw EngineException(cudaFailure(status, doing));
}

/// After every launch: a launch that the GPU refuses is told nowhere else. Failures of earlier work stay for whoever
/// synchronizes.
inline void checkLaunch(const char* kernel) {
  check(cudaPeekAtLastError(), kernel);
}

} // namespace millrace::cuda
