// See ConvertArgs.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void convert(cudaStream_t stream, const ConvertArgs& args);

} // namespace millrace::cuda
