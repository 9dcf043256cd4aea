// Conversion between fp32 and bf16, or a strided copy. Checks the arguments against device/kernels.h (EngineException
// naming the op, expected and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void convert(Stream& stream, const ConvertArgs& args);

} // namespace millrace::ops
