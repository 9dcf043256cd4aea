// Which experts tokens go to, and the gradient of that. Checks the arguments against device/kernels.h (EngineException
// naming the op, expected and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void route(Stream& stream, const RouteArgs& args);
void routeBackward(Stream& stream, const RouteBackwardArgs& args);

} // namespace millrace::ops
