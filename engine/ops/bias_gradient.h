// Gradient of a bias: the column sums of the gradient of what it was added to. Checks the arguments against
// device/kernels.h (EngineException naming the op, expected and actual), then submits to the stream; asynchronous, one
// submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void biasGradient(Stream& stream, const BiasGradientArgs& args);

} // namespace millrace::ops
