// See RopeArgs.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void rope(cudaStream_t stream, const RopeArgs& args);

} // namespace millrace::cuda
