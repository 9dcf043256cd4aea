// See SoftcapArgs.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void softcap(cudaStream_t stream, const SoftcapArgs& args);

} // namespace millrace::cuda
