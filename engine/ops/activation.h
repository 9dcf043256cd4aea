// Elementwise activation functions and their gradients. Checks the arguments against device/kernels.h (EngineException
// naming the op, expected and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void activation(Stream& stream, const ActivationArgs& args);
void activationBackward(Stream& stream, const ActivationBackwardArgs& args);

} // namespace millrace::ops
