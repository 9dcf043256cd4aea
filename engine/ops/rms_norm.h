// RMSNorm and its gradient. Checks the arguments against device/kernels.h (EngineException naming the op, expected and
// actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void rmsNorm(Stream& stream, const RmsNormArgs& args);
void rmsNormBackward(Stream& stream, const RmsNormBackwardArgs& args);

} // namespace millrace::ops
