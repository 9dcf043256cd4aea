// Sum of two fp32 ranges. Checks the arguments against device/kernels.h (EngineException naming the op, expected and
// actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void add(Stream& stream, const AddArgs& args);

} // namespace millrace::ops
