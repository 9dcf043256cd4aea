// Rows of tokens at their experts: brought together again, and weighed. Checks the arguments against device/kernels.h
// (EngineException naming the op, expected and actual), then submits to the stream; asynchronous, one submitting thread
// a stream.
#pragma once

#include "device/kernels.h"

namespace millrace::ops {

void combineRows(Stream& stream, const CombineRowsArgs& args);
void weighRows(Stream& stream, const WeighRowsArgs& args);

} // namespace millrace::ops
