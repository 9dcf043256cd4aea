// Rows of the embedding table for tokens, the gradient of the table, and sums of such gradients. Checks the arguments
// against device/kernels.h (EngineException naming the op, expected and actual), then submits to the stream;
// asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void embedding(Stream& stream, const EmbeddingArgs& args);
void embeddingBackward(Stream& stream, const EmbeddingBackwardArgs& args);
void addRows(Stream& stream, const AddRowsArgs& args);

} // namespace millrace::ops
