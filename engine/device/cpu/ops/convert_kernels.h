// The inner loop of convert.h.
#pragma once

#include "device/cpu/ops/isa.h"
#include "device/cpu/ops/rows.h"

namespace millrace::cpu {

MILLRACE_EACH_ISA(void convertPiece(const Rows& x, bool xBf16, const Rows& y, bool yBf16, const Piece& piece);)

} // namespace millrace::cpu
