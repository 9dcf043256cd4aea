// Products of groups of rows with a matrix each. Checks the arguments against device/kernels.h (EngineException naming
// the op, expected and actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void groupedMatmul(Stream& stream, const GroupedMatmulArgs& args);
void groupedWeightGradient(Stream& stream, const GroupedWeightGradientArgs& args);

} // namespace millrace::ops
