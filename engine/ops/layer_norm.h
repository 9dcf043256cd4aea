// LayerNorm and its gradient. Checks the arguments against device/kernels.h (EngineException naming the op, expected
// and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void layerNorm(Stream& stream, const LayerNormArgs& args);
void layerNormBackward(Stream& stream, const LayerNormBackwardArgs& args);

} // namespace millrace::ops
