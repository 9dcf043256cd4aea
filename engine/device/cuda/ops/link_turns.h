// Turns on an imitated link, by the GPU's clock; see link_limit.h.
#pragma once

#include <cuda_runtime_api.h>

namespace millrace::cuda {

/// Takes the link for so many nanoseconds, from when it is free or from now on; *until becomes the end of that.
void takeTurn(cudaStream_t stream, unsigned long long* free, unsigned long long* until, unsigned long long length);
/// Holds the stream until then.
void awaitTurn(cudaStream_t stream, const unsigned long long* until);

} // namespace millrace::cuda
