// The inner loops of expert_rows.h.
#pragma once

#include "device/cpu/ops/isa.h"
#include "device/cpu/ops/rows.h"

namespace millrace::cpu {

struct CombinedRows {
  bool bf16 = false;
  std::int64_t columns = 0, choices = 0;
  Rows x, y;
  Rows residual;                      ///< data null when absent
  const std::int32_t* rows = nullptr; ///< (tokens, choices)
  const float* weights = nullptr;     ///< the same, or null
};

struct WeighedRows {
  bool bf16 = false;
  std::int64_t columns = 0;
  Rows dY, x;
  const float* weights = nullptr;
  float* dWeights = nullptr;
};

MILLRACE_EACH_ISA(
    // Of tokens [begin, end).
    void combineTokens(const CombinedRows& args, std::int64_t begin, std::int64_t end);
    // Of rows [begin, end).
    void weighRange(const WeighedRows& args, std::int64_t begin, std::int64_t end);)

} // namespace millrace::cpu
