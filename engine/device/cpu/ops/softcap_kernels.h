// The inner loop of softcap.h and of attention with capped scores.
#pragma once

#include "device/cpu/ops/isa.h"
#include "device/cpu/ops/rows.h"

namespace millrace::cpu {

MILLRACE_EACH_ISA(
    // x = softcap * tanh(x / softcap) over rows that lie `stride` elements apart.
    void softcapRows(float* x, std::int64_t stride, std::int64_t rows, std::int64_t columns, float softcap);)

} // namespace millrace::cpu
