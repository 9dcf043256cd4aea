// The inner loop of rope.h.
#pragma once

#include "device/cpu/ops/isa.h"

namespace millrace::cpu {

struct RopeRows {
  bool bf16 = false;
  void* x = nullptr; ///< (tokens, heads, dim), strides below, in elements
  std::int64_t tokenStride = 0, heads = 0, headStride = 0;
  const float* cosSin = nullptr; ///< (positions, 2 * half)
  std::int64_t cosSinStride = 0, half = 0;
  const std::int32_t* positions = nullptr;
  bool inverse = false;
};

MILLRACE_EACH_ISA(void ropeTokens(const RopeRows& args, std::int64_t begin, std::int64_t end);)

} // namespace millrace::cpu
