// bfloat16 conversions and the split of an fp32 master weight into two 16-bit planes. Pure, constexpr where possible.
#pragma once

#include <bit>
#include <cstdint>

namespace millrace {

/// A bfloat16 in storage; arithmetic happens in fp32.
struct BFloat16 {
  std::uint16_t bits = 0;
  bool operator==(const BFloat16&) const = default;
};

inline float toFloat(BFloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
}

/// Round to nearest, ties to even, as hardware and PyTorch do; NaN stays NaN. For activations and gradients.
inline BFloat16 toBFloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {static_cast<std::uint16_t>((bits >> 16) | 0x0040u)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16)};
}

/// The two planes of an fp32 master weight: hi is its nearest bf16 (ties away from zero), (hi << 16) + lo its exact
/// bits.
struct SplitWeight {
  std::uint16_t hi = 0;
  std::int16_t lo = 0;
};

inline SplitWeight splitWeight(float master) {
  auto bits = std::bit_cast<std::uint32_t>(master);
  // 0x7FFFFFFF + 0x8000 would wrap into -0.0; one canonical NaN keeps the sign and stays NaN in both planes.
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) bits = (bits & 0x80000000u) | 0x7FC00000u;
  const std::uint32_t hi = (bits + 0x8000u) >> 16;
  return {static_cast<std::uint16_t>(hi), static_cast<std::int16_t>(static_cast<std::int32_t>(bits - (hi << 16)))};
}

inline float joinWeight(std::uint16_t hi, std::int16_t lo) {
  return std::bit_cast<float>((static_cast<std::uint32_t>(hi) << 16) +
                              static_cast<std::uint32_t>(static_cast<std::int32_t>(lo)));
}

} // namespace millrace
