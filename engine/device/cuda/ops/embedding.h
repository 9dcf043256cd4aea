// See EmbeddingArgs, EmbeddingBackwardArgs and AddRowsArgs.
#pragma once

#include "device/kernels.h"

#include <cuda_runtime_api.h>

namespace millrace::cuda {

void embedding(cudaStream_t stream, const EmbeddingArgs& args);
void embeddingBackward(cudaStream_t stream, const EmbeddingBackwardArgs& args);
void addRows(cudaStream_t stream, const AddRowsArgs& args);

} // namespace millrace::cuda
