// AdamW on a device. Checks the arguments against device/kernels.h (EngineException naming the op, expected and
// actual), then submits to the stream; asynchronous, one submitting thread a stream.
#pragma once

#include "device/kernels.h"

#include <array>

namespace millrace::ops {

void adamW(Stream& stream, const AdamWArgs& args);

/// The operands of an update, present or not.
std::array<TensorView AdamWArgs::*, 6> adamWOperands();

/// The update of elements [first, first + count) of what args update.
AdamWArgs rangeOf(const AdamWArgs& args, std::int64_t first, std::int64_t count);

} // namespace millrace::ops
