// See EmbeddingArgs and EmbeddingBackwardArgs.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void embedding(cudaStream_t stream, const EmbeddingArgs& args);
void embeddingBackward(cudaStream_t stream, const EmbeddingBackwardArgs& args);

} // namespace millrace::cuda
