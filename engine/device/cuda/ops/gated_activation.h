// See GatedActivationArgs and GatedActivationBackwardArgs.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void gatedActivation(cudaStream_t stream, const GatedActivationArgs& args);
void gatedActivationBackward(cudaStream_t stream, const GatedActivationBackwardArgs& args);

} // namespace millrace::cuda
