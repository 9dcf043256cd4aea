// See LayerNormArgs and LayerNormBackwardArgs.
#pragma once

#include "device/cuda/ops/workspace.h"
#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void layerNorm(cudaStream_t stream, const LayerNormArgs& args);
void layerNormBackward(cudaStream_t stream, const LayerNormBackwardArgs& args, const Workspace& workspace);

} // namespace millrace::cuda
