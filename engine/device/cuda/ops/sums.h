// See SumArgs and SumOfSquaresArgs.
#pragma once

#include "device/cuda/ops/workspace.h"
#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void sum(cudaStream_t stream, const SumArgs& args, const Workspace& workspace);
void sumOfSquares(cudaStream_t stream, const SumOfSquaresArgs& args, const Workspace& workspace);

} // namespace millrace::cuda
