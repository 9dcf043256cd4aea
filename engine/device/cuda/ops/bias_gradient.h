// See BiasGradientArgs.
#pragma once

#include "device/cuda/ops/workspace.h"
#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void biasGradient(cudaStream_t stream, const BiasGradientArgs& args, const Workspace& workspace);

} // namespace millrace::cuda
