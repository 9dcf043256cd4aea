// Causal attention and its gradient. Checks the arguments against device/kernels.h (EngineException naming the op,
// expected and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void attention(Stream& stream, const AttentionArgs& args);
void attentionBackward(Stream& stream, const AttentionBackwardArgs& args);

} // namespace millrace::ops
