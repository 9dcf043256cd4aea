// Values kept within a bound, smoothly. Checks the arguments against device/kernels.h (EngineException naming the op,
// expected and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void softcap(Stream& stream, const SoftcapArgs& args);

} // namespace millrace::ops
