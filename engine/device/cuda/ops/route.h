// See RouteArgs and RouteBackwardArgs.
#pragma once

#include "device/cuda/ops/workspace.h"
#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void route(cudaStream_t stream, const RouteArgs& args, const Workspace& workspace);
void routeBackward(cudaStream_t stream, const RouteBackwardArgs& args);

} // namespace millrace::cuda
