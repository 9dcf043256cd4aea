// See CombineRowsArgs and WeighRowsArgs.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void combineRows(cudaStream_t stream, const CombineRowsArgs& args);
void weighRows(cudaStream_t stream, const WeighRowsArgs& args);

} // namespace millrace::cuda
