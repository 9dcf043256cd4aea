// Matrix product with optional bias and residual. Checks the arguments against device/kernels.h (EngineException naming
// the op, expected and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void matmul(Stream& stream, const MatmulArgs& args);

} // namespace millrace::ops
