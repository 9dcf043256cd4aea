// One register of floats in the width of the instruction set that the including source is compiled for, with loads and
// stores of fp32 and bf16. Only for sources of millrace_isa_sources(). Rows are walked in whole registers and one
// partial register at the end, so results never depend on addresses. Everything has internal linkage (see isa.h).
#pragma once

#include "base/bf16.h"
#include "device/cpu/ops/rows.h"

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace millrace::cpu::MILLRACE_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX2__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif
constexpr int registerBytes = lanes * 4;

typedef float F32v __attribute__((vector_size(registerBytes)));
typedef std::uint32_t U32v __attribute__((vector_size(registerBytes)));
typedef std::uint16_t U16v __attribute__((vector_size(registerBytes / 2)));
typedef double F64v __attribute__((vector_size(registerBytes)));
typedef float F32half __attribute__((vector_size(registerBytes / 2)));
// The same in memory: any alignment, any type.
typedef float F32u __attribute__((vector_size(registerBytes), aligned(4), may_alias));
typedef std::uint16_t U16u __attribute__((vector_size(registerBytes / 2), aligned(2), may_alias));
typedef float F32element __attribute__((may_alias));
typedef std::uint16_t U16element __attribute__((may_alias));

#define MILLRACE_INLINE inline __attribute__((always_inline))

/// How many elements of a register are meant: all, or the first few.
struct Whole {};
struct Part {
  int count;
};

MILLRACE_INLINE F32v splat(float value) {
  return value - F32v{};
}

MILLRACE_INLINE F32v widen(U16v bits) {
  return reinterpret_cast<F32v>(__builtin_convertvector(bits, U32v) << 16);
}

/// The low 16 bits of each element, which must be below 65536.
MILLRACE_INLINE U16v narrow(U32v value) {
#if defined(__AVX512F__)
  return __builtin_convertvector(value, U16v); // one instruction
#elif defined(__AVX2__)
  const __m256i wide = reinterpret_cast<__m256i>(value);
  return reinterpret_cast<U16v>(_mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1)));
#elif defined(__SSE2__)
  // No unsigned pack before SSE4.1: sign-extend the 16 bits, so that the signed pack keeps them.
  const __m128i wide = _mm_srai_epi32(_mm_slli_epi32(reinterpret_cast<__m128i>(value), 16), 16);
  const __m128i packed = _mm_packs_epi32(wide, wide);
  U16v result;
  __builtin_memcpy(&result, &packed, sizeof result);
  return result;
#else
  return __builtin_convertvector(value, U16v);
#endif
}

/// Nearest even; NaN stays NaN, as toBFloat16() of base/bf16.h.
MILLRACE_INLINE U16v toBf16(F32v value) {
  const U32v bits = reinterpret_cast<U32v>(value);
  const U32v rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const U32v quiet = (bits >> 16) | 0x0040u;
  return narrow(value != value ? quiet : rounded);
}

MILLRACE_INLINE F32v load(const float* p, Whole) {
  return *reinterpret_cast<const F32u*>(p);
}
MILLRACE_INLINE F32v load(const BFloat16* p, Whole) {
  return widen(*reinterpret_cast<const U16u*>(p));
}
MILLRACE_INLINE void store(float* p, F32v value, Whole) {
  *reinterpret_cast<F32u*>(p) = value;
}
MILLRACE_INLINE void store(BFloat16* p, F32v value, Whole) {
  *reinterpret_cast<U16u*>(p) = toBf16(value);
}

/// Elements past the count read as zero.
MILLRACE_INLINE F32v load(const float* p, Part part) {
  const auto* elements = reinterpret_cast<const F32element*>(p);
  F32v value{};
  for (int i = 0; i < part.count; ++i) value[i] = elements[i];
  return value;
}
MILLRACE_INLINE F32v load(const BFloat16* p, Part part) {
  const auto* elements = reinterpret_cast<const U16element*>(p);
  U16v bits{};
  for (int i = 0; i < part.count; ++i) bits[i] = elements[i];
  return widen(bits);
}
MILLRACE_INLINE void store(float* p, F32v value, Part part) {
  auto* elements = reinterpret_cast<F32element*>(p);
  for (int i = 0; i < part.count; ++i) elements[i] = value[i];
}
MILLRACE_INLINE void store(BFloat16* p, F32v value, Part part) {
  auto* elements = reinterpret_cast<U16element*>(p);
  const U16v bits = toBf16(value);
  for (int i = 0; i < part.count; ++i) elements[i] = bits[i];
}

/// The value with elements past the count replaced.
MILLRACE_INLINE F32v keep(F32v value, F32v, Whole) {
  return value;
}
MILLRACE_INLINE F32v keep(F32v value, F32v otherwise, Part part) {
  for (int i = part.count; i < lanes; ++i) value[i] = otherwise[i];
  return value;
}

/// Sum of the elements in a fixed order.
MILLRACE_INLINE float sumOf(F32v value) {
  float sums[lanes];
  __builtin_memcpy(sums, &value, sizeof sums);
  for (int step = lanes / 2; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) sums[i] += sums[i + step];
  return sums[0];
}

MILLRACE_INLINE F32v larger(F32v a, F32v b) {
  return a > b ? a : b;
}

/// body(offset, Whole or Part) over the registers of a row of n elements, ascending.
template <class Body>
MILLRACE_INLINE void overRow(std::int64_t n, Body&& body) {
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, Whole{});
  if (i < n) body(i, Part{static_cast<int>(n - i)});
}

/// Sum over a row of term(offset, Whole or Part), which is zero past a partial count: four running registers, then a
/// fixed tree.
template <class Term>
MILLRACE_INLINE float sumRow(std::int64_t n, Term&& term) {
  F32v s0{}, s1{}, s2{}, s3{};
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    s0 += term(i, Whole{});
    s1 += term(i + lanes, Whole{});
    s2 += term(i + 2 * lanes, Whole{});
    s3 += term(i + 3 * lanes, Whole{});
  }
  for (; i + lanes <= n; i += lanes) s0 += term(i, Whole{});
  if (i < n) s1 += term(i, Part{static_cast<int>(n - i)});
  return sumOf((s0 + s1) + (s2 + s3));
}

template <class T>
MILLRACE_INLINE T* rowOf(const Rows& rows, std::int64_t index) {
  std::int64_t offset = 0;
  if (rows.inner != 1) {
    offset = index % rows.inner * rows.innerStride;
    index /= rows.inner;
  }
  if (rows.middle != 1) {
    offset += index % rows.middle * rows.middleStride;
    index /= rows.middle;
  }
  return static_cast<T*>(rows.data) + offset + index * rows.outerStride;
}

} // namespace
} // namespace millrace::cpu::MILLRACE_ISA
