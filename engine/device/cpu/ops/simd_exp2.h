// Two to the power of a vector, for sources compiled once per instruction set (see simd_vector.h).
#pragma once

#include "device/cpu/ops/simd_vector.h"

namespace millrace::cpu::MILLRACE_ISA {
namespace {

/// 2^x without branches, within 2 units in the last place. 0 for x below -126, where results would be denormal; capped
/// near 2^127; NaN stays NaN. x is split into the nearest whole number n and f in [-1/2, 1/2]; 2^f is a polynomial of
/// degree 6, minimax in relative error (2.6e-9) among those that are exactly 1 at 0.
inline FloatV exp2V(FloatV x) {
  const FloatV zero{};
  const FloatV capped = x > 127.0f ? zero + 127.0f : x;
  // Adding 1.5 * 2^23 rounds to a whole number and leaves it in the lowest bits.
  const FloatV shifted = capped + 0x1.8p23f;
  const FloatV f = capped - (shifted - 0x1.8p23f);
  FloatV p = zero + 0x1.470b4ap-13f;
  p = p * f + 0x1.5f7276p-10f;
  p = p * f + 0x1.3b270ep-7f;
  p = p * f + 0x1.c6ae72p-5f;
  p = p * f + 0x1.ebfbe2p-3f;
  p = p * f + 0x1.62e432p-1f;
  p = p * f + 1.0f;
  const BitsV scale = (reinterpret_cast<BitsV>(shifted) << 23) + 0x3F800000u;
  const FloatV power = p * reinterpret_cast<FloatV>(scale);
  return x < -126.0f ? zero : power;
}

} // namespace
} // namespace millrace::cpu::MILLRACE_ISA
