// Loss of a chunk of logits, with the gradient in place. Checks the arguments against device/kernels.h (EngineException
// naming the op, expected and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void crossEntropy(Stream& stream, const CrossEntropyArgs& args);

} // namespace millrace::ops
