// See CrossEntropyArgs.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void crossEntropy(cudaStream_t stream, const CrossEntropyArgs& args);

} // namespace millrace::cuda
