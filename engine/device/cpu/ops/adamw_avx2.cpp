#include "device/cpu/ops/adamw_range.h"

#include <immintrin.h>

namespace millrace::cpu {

namespace {

struct Constants {
  __m256 beta1, oneMinusBeta1, beta2, oneMinusBeta2, epsilon, minusStepSize, inverseSqrtBias2, decayFactor,
      gradientScale;

  explicit Constants(const AdamWScalars& s)
      : beta1(_mm256_set1_ps(s.beta1)),
        oneMinusBeta1(_mm256_set1_ps(s.oneMinusBeta1)),
        beta2(_mm256_set1_ps(s.beta2)),
        oneMinusBeta2(_mm256_set1_ps(s.oneMinusBeta2)),
        epsilon(_mm256_set1_ps(s.epsilon)),
        minusStepSize(_mm256_set1_ps(-s.stepSize)),
        inverseSqrtBias2(_mm256_set1_ps(s.inverseSqrtBias2)),
        decayFactor(_mm256_set1_ps(s.decayFactor)),
        gradientScale(_mm256_set1_ps(s.gradientScale)) {}
};

/// Updates the moments of eight elements from i and returns m' / d.
template <bool bf16Gradient>
inline __m256 quotient(const AdamWRange& r, const Constants& c, std::size_t i) {
  __m256 gradient;
  if constexpr (bf16Gradient) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(r.gradient16 + i));
    gradient = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  } else {
    gradient = _mm256_loadu_ps(r.gradient32 + i);
  }
  const __m256 g = _mm256_mul_ps(gradient, c.gradientScale);
  const __m256 m = _mm256_fmadd_ps(c.beta1, _mm256_loadu_ps(r.m + i), _mm256_mul_ps(c.oneMinusBeta1, g));
  const __m256 v =
      _mm256_fmadd_ps(c.beta2, _mm256_loadu_ps(r.v + i), _mm256_mul_ps(_mm256_mul_ps(c.oneMinusBeta2, g), g));
  const __m256 d = _mm256_fmadd_ps(_mm256_sqrt_ps(v), c.inverseSqrtBias2, c.epsilon);
  _mm256_storeu_ps(r.m + i, m);
  _mm256_storeu_ps(r.v + i, v);
  return _mm256_div_ps(m, d);
}

template <bool decay>
inline __m256 updated(const Constants& c, __m256 weight, __m256 quotient) {
  if constexpr (decay) weight = _mm256_mul_ps(weight, c.decayFactor);
  return _mm256_fmadd_ps(c.minusStepSize, quotient, weight);
}

__m256 canonicalNan(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i quiet = _mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(static_cast<int>(0x80000000u))),
                                        _mm256_set1_epi32(0x7FC00000));
  return _mm256_blendv_ps(value, _mm256_castsi256_ps(quiet), _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}

/// Sixteen elements from i. The planes are joined and split in 16-bit arithmetic: hi holds the master's upper half,
/// plus one where the lower half, read as signed, is negative. Unpacking takes elements 0-3 and 8-11, then 4-7 and
/// 12-15; packing puts them back.
template <bool bf16Gradient, bool decay>
inline void updateSplit(const AdamWRange& r, const Constants& c, std::size_t i) {
  const __m256 first = quotient<bf16Gradient>(r, c, i), second = quotient<bf16Gradient>(r, c, i + 8);
  auto* hiMemory = reinterpret_cast<__m256i*>(r.hi + i);
  auto* loMemory = reinterpret_cast<__m256i*>(r.lo + i);
  const __m256i lower = _mm256_loadu_si256(loMemory);
  const __m256i upper = _mm256_add_epi16(_mm256_loadu_si256(hiMemory), _mm256_srai_epi16(lower, 15));
  __m256 a = _mm256_castsi256_ps(_mm256_unpacklo_epi16(lower, upper));
  __m256 b = _mm256_castsi256_ps(_mm256_unpackhi_epi16(lower, upper));
  a = updated<decay>(c, a, _mm256_permute2f128_ps(first, second, 0x20));
  b = updated<decay>(c, b, _mm256_permute2f128_ps(first, second, 0x31));
  if (_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)) != 0) [[unlikely]] {
    a = canonicalNan(a);
    b = canonicalNan(b);
  }
  const __m256i aBits = _mm256_castps_si256(a), bBits = _mm256_castps_si256(b);
  const __m256i low = _mm256_set1_epi32(0xFFFF);
  const __m256i lo = _mm256_packus_epi32(_mm256_and_si256(aBits, low), _mm256_and_si256(bBits, low));
  const __m256i raw = _mm256_packus_epi32(_mm256_srli_epi32(aBits, 16), _mm256_srli_epi32(bBits, 16));
  _mm256_storeu_si256(loMemory, lo);
  _mm256_storeu_si256(hiMemory, _mm256_sub_epi16(raw, _mm256_srai_epi16(lo, 15)));
}

/// Eight elements from i with fp32 weights, or sixteen with split planes.
template <bool split16>
constexpr std::size_t step = split16 ? 16 : 8;

template <bool split16, bool bf16Gradient, bool decay>
inline void update(const AdamWRange& r, const Constants& c, std::size_t i) {
  if constexpr (split16)
    updateSplit<bf16Gradient, decay>(r, c, i);
  else
    _mm256_storeu_ps(r.weight + i, updated<decay>(c, _mm256_loadu_ps(r.weight + i), quotient<bf16Gradient>(r, c, i)));
}

template <class T>
void copy(T* to, const T* from, std::size_t count) {
  __builtin_memcpy(to, from, count * sizeof(T));
}

/// The last few elements, by way of memory for a whole step.
template <bool split16, bool bf16Gradient, bool decay>
void updateTail(const AdamWRange& r, const Constants& c, std::size_t begin) {
  float weight[16] = {}, m[16] = {}, v[16] = {}, gradient32[16] = {};
  std::uint16_t hi[16] = {}, gradient16[16] = {};
  std::int16_t lo[16] = {};
  AdamWRange tail{16, weight, hi, lo, m, v, gradient32, gradient16, r.scalars, decay};
  const std::size_t n = r.count - begin;
  if constexpr (split16) {
    copy(hi, r.hi + begin, n);
    copy(lo, r.lo + begin, n);
  } else {
    copy(weight, r.weight + begin, n);
  }
  if constexpr (bf16Gradient)
    copy(gradient16, r.gradient16 + begin, n);
  else
    copy(gradient32, r.gradient32 + begin, n);
  copy(m, r.m + begin, n);
  copy(v, r.v + begin, n);
  update<split16, bf16Gradient, decay>(tail, c, 0);
  if constexpr (split16) {
    copy(r.hi + begin, hi, n);
    copy(r.lo + begin, lo, n);
  } else {
    copy(r.weight + begin, weight, n);
  }
  copy(r.m + begin, m, n);
  copy(r.v + begin, v, n);
}

template <bool split16, bool bf16Gradient, bool decay>
void run(const AdamWRange& r) {
  const Constants c(r.scalars);
  std::size_t i = 0;
  for (; i + step<split16> <= r.count; i += step<split16>) update<split16, bf16Gradient, decay>(r, c, i);
  if (i < r.count) updateTail<split16, bf16Gradient, decay>(r, c, i);
}

template <bool split16, bool bf16Gradient>
void run(const AdamWRange& r) {
  r.decay ? run<split16, bf16Gradient, true>(r) : run<split16, bf16Gradient, false>(r);
}

} // namespace

void adamWAvx2(const AdamWRange& r) {
  if (r.weight)
    r.gradient32 ? run<false, false>(r) : run<false, true>(r);
  else
    r.gradient32 ? run<true, false>(r) : run<true, true>(r);
}

} // namespace millrace::cpu
