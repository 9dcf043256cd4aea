// act(gate) * up and its gradient. Checks the arguments against device/kernels.h (EngineException naming the op,
// expected and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void gatedActivation(Stream& stream, const GatedActivationArgs& args);
void gatedActivationBackward(Stream& stream, const GatedActivationBackwardArgs& args);

} // namespace millrace::ops
