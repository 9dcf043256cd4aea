// See RmsNormArgs and RmsNormBackwardArgs.
#pragma once

#include "device/cuda/ops/workspace.h"
#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void rmsNorm(cudaStream_t stream, const RmsNormArgs& args);
void rmsNormBackward(cudaStream_t stream, const RmsNormBackwardArgs& args, const Workspace& workspace);

} // namespace millrace::cuda
