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

template <class T>
__m128i load16(const T* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

template <class T>
void store16(T* p, __m128i value) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), value);
}

__m256 join(__m128i hi, __m128i lo) {
  const __m256i upper = _mm256_slli_epi32(_mm256_cvtepu16_epi32(hi), 16);
  return _mm256_castsi256_ps(_mm256_add_epi32(upper, _mm256_cvtepi16_epi32(lo)));
}

void split(__m256 master, __m128i& hi, __m128i& lo) {
  const __m256i raw = _mm256_castps_si256(master);
  const __m256i quiet = _mm256_or_si256(_mm256_and_si256(raw, _mm256_set1_epi32(static_cast<int>(0x80000000u))),
                                        _mm256_set1_epi32(0x7FC00000));
  const __m256i isNan = _mm256_castps_si256(_mm256_cmp_ps(master, master, _CMP_UNORD_Q));
  const __m256i bits = _mm256_blendv_epi8(raw, quiet, isNan);
  const __m256i upper = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x8000)), 16);
  const __m256i lower = _mm256_sub_epi32(bits, _mm256_slli_epi32(upper, 16));
  hi = _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1));
  lo = _mm_packs_epi32(_mm256_castsi256_si128(lower), _mm256_extracti128_si256(lower, 1));
}

/// Eight elements from i.
template <bool split16, bool bf16Gradient, bool decay>
inline void update(const AdamWRange& r, const Constants& c, std::size_t i) {
  __m256 gradient;
  if constexpr (bf16Gradient)
    gradient = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(r.gradient16 + i)), 16));
  else
    gradient = _mm256_loadu_ps(r.gradient32 + i);
  const __m256 g = _mm256_mul_ps(gradient, c.gradientScale);
  const __m256 m = _mm256_fmadd_ps(c.beta1, _mm256_loadu_ps(r.m + i), _mm256_mul_ps(c.oneMinusBeta1, g));
  const __m256 v =
      _mm256_fmadd_ps(c.beta2, _mm256_loadu_ps(r.v + i), _mm256_mul_ps(_mm256_mul_ps(c.oneMinusBeta2, g), g));
  const __m256 d = _mm256_fmadd_ps(_mm256_sqrt_ps(v), c.inverseSqrtBias2, c.epsilon);
  __m256 w;
  if constexpr (split16)
    w = join(load16(r.hi + i), load16(r.lo + i));
  else
    w = _mm256_loadu_ps(r.weight + i);
  if constexpr (decay) w = _mm256_mul_ps(w, c.decayFactor);
  w = _mm256_fmadd_ps(c.minusStepSize, _mm256_div_ps(m, d), w);
  _mm256_storeu_ps(r.m + i, m);
  _mm256_storeu_ps(r.v + i, v);
  if constexpr (split16) {
    __m128i hi, lo;
    split(w, hi, lo);
    store16(r.hi + i, hi);
    store16(r.lo + i, lo);
  } else {
    _mm256_storeu_ps(r.weight + i, w);
  }
}

template <class T>
void copy(T* to, const T* from, std::size_t count) {
  __builtin_memcpy(to, from, count * sizeof(T));
}

/// The last few elements, by way of a full register's worth of memory.
template <bool split16, bool bf16Gradient, bool decay>
void updateTail(const AdamWRange& r, const Constants& c, std::size_t begin) {
  float weight[8] = {}, m[8] = {}, v[8] = {}, gradient32[8] = {};
  std::uint16_t hi[8] = {}, gradient16[8] = {};
  std::int16_t lo[8] = {};
  AdamWRange tail{8, weight, hi, lo, m, v, gradient32, gradient16, r.scalars, decay};
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
  for (; i + 8 <= r.count; i += 8) update<split16, bf16Gradient, decay>(r, c, i);
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
