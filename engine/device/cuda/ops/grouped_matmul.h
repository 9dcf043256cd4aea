// See GroupedMatmulArgs and GroupedWeightGradientArgs. How many rows a group has is known on the device alone: blocks
// find their group themselves, and there are as many as any distribution of the rows needs.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void groupedMatmul(cudaStream_t stream, const GroupedMatmulArgs& args);
void groupedWeightGradient(cudaStream_t stream, const GroupedWeightGradientArgs& args);

} // namespace millrace::cuda
