// Rotary positions, in place. Checks the arguments against device/kernels.h (EngineException naming the op, expected
// and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void rope(Stream& stream, const RopeArgs& args);

} // namespace millrace::ops
