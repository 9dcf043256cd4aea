// See ActivationArgs and ActivationBackwardArgs.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void activation(cudaStream_t stream, const ActivationArgs& args);
void activationBackward(cudaStream_t stream, const ActivationBackwardArgs& args);

} // namespace millrace::cuda
