// The inner loops of adamw.h, one source for each instruction set. These are compiled without contraction and with
// their own flags (see CMakeLists.txt); each does the sequence of adamw.h and nothing else.
#pragma once

#include "device/kernels.h"

#include <cstddef>
#include <cstdint>

namespace millrace::cpu {

/// `count` elements. Either weight, or hi and lo; either gradient32 or gradient16.
struct AdamWRange {
  std::size_t count = 0;
  float* weight = nullptr;
  std::uint16_t* hi = nullptr;
  std::int16_t* lo = nullptr;
  float* m = nullptr;
  float* v = nullptr;
  const float* gradient32 = nullptr;
  const std::uint16_t* gradient16 = nullptr; ///< bf16 bits
  AdamWScalars scalars;
  bool decay = false;
};

void adamWScalar(const AdamWRange& range);
void adamWAvx2(const AdamWRange& range);
void adamWAvx512(const AdamWRange& range);

} // namespace millrace::cpu
