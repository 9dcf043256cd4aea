// Vector types for sources compiled once per instruction set. Everything here has internal linkage and nothing from the
// library is included: an inline function emitted from such a source could be picked by the linker for the whole
// program and then run on a processor without these instructions.
#pragma once

#include <cstdint>

namespace millrace::cpu::MILLRACE_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX2__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

typedef float FloatV __attribute__((vector_size(lanes * 4)));
typedef std::int32_t IntV __attribute__((vector_size(lanes * 4)));
typedef std::uint32_t BitsV __attribute__((vector_size(lanes * 4)));
typedef std::uint16_t HalfV __attribute__((vector_size(lanes * 2)));

inline FloatV load(const float* from) {
  FloatV value;
  __builtin_memcpy(&value, from, sizeof value);
  return value;
}

inline void store(float* to, FloatV value) {
  __builtin_memcpy(to, &value, sizeof value);
}

/// bf16 to fp32.
inline FloatV load(const std::uint16_t* from) {
  HalfV half;
  __builtin_memcpy(&half, from, sizeof half);
  return reinterpret_cast<FloatV>(__builtin_convertvector(half, BitsV) << 16);
}

inline float widened(float value) {
  return value;
}

inline float widened(std::uint16_t bits) {
  return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits) << 16);
}

/// fp32 to bf16, nearest even, NaN stays NaN: the same bits as toBFloat16().
inline void store(std::uint16_t* to, FloatV value) {
  const BitsV bits = reinterpret_cast<BitsV>(value);
  const BitsV rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const BitsV quiet = (bits >> 16) | 0x40u;
  const HalfV half = __builtin_convertvector(value != value ? quiet : rounded, HalfV);
  __builtin_memcpy(to, &half, sizeof half);
}

inline std::uint16_t narrowed(float value) {
  const std::uint32_t bits = __builtin_bit_cast(std::uint32_t, value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

inline FloatV all(float value) {
  return value - FloatV{};
}

inline float sumOf(FloatV value) {
  float lane[lanes];
  __builtin_memcpy(lane, &value, sizeof value);
  for (int width = lanes / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
  }
  return lane[0];
}

} // namespace
} // namespace millrace::cpu::MILLRACE_ISA
