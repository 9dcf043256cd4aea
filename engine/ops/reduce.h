// Sums over a range, in fp64. Checks the arguments against device/kernels.h (EngineException naming the op, expected
// and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void sum(Stream& stream, const SumArgs& args);
void sumOfSquares(Stream& stream, const SumOfSquaresArgs& args);

} // namespace millrace::ops
