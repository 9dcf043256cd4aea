// See AdamWArgs and optim/adamw.h: equal in bits to the CPU's.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void adamW(cudaStream_t stream, const AdamWArgs& args);

} // namespace millrace::cuda
