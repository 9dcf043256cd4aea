#include "device/cpu/ops/adamw_range.h"

#include <immintrin.h>

namespace millrace::cpu {

namespace {

struct Constants {
  __m512 beta1, oneMinusBeta1, beta2, oneMinusBeta2, epsilon, minusStepSize, inverseSqrtBias2, decayFactor,
      gradientScale;

  explicit Constants(const AdamWScalars& s)
      : beta1(_mm512_set1_ps(s.beta1)),
        oneMinusBeta1(_mm512_set1_ps(s.oneMinusBeta1)),
        beta2(_mm512_set1_ps(s.beta2)),
        oneMinusBeta2(_mm512_set1_ps(s.oneMinusBeta2)),
        epsilon(_mm512_set1_ps(s.epsilon)),
        minusStepSize(_mm512_set1_ps(-s.stepSize)),
        inverseSqrtBias2(_mm512_set1_ps(s.inverseSqrtBias2)),
        decayFactor(_mm512_set1_ps(s.decayFactor)),
        gradientScale(_mm512_set1_ps(s.gradientScale)) {}
};

__m512 join(__m256i hi, __m256i lo) {
  const __m512i upper = _mm512_slli_epi32(_mm512_cvtepu16_epi32(hi), 16);
  return _mm512_castsi512_ps(_mm512_add_epi32(upper, _mm512_cvtepi16_epi32(lo)));
}

void split(__m512 master, __m256i& hi, __m256i& lo) {
  const __m512i raw = _mm512_castps_si512(master);
  const __m512i quiet = _mm512_or_si512(_mm512_and_si512(raw, _mm512_set1_epi32(static_cast<int>(0x80000000u))),
                                        _mm512_set1_epi32(0x7FC00000));
  const __m512i bits = _mm512_mask_mov_epi32(raw, _mm512_cmp_ps_mask(master, master, _CMP_UNORD_Q), quiet);
  const __m512i upper = _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x8000)), 16);
  hi = _mm512_cvtepi32_epi16(upper);
  lo = _mm512_cvtepi32_epi16(_mm512_sub_epi32(bits, _mm512_slli_epi32(upper, 16)));
}

/// The elements from i that the mask names; the rest of memory is neither read nor written.
template <bool split16, bool bf16Gradient, bool decay>
inline void update(const AdamWRange& r, const Constants& c, std::size_t i, __mmask16 mask) {
  __m512 gradient;
  if constexpr (bf16Gradient)
    gradient = _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(mask, r.gradient16 + i)), 16));
  else
    gradient = _mm512_maskz_loadu_ps(mask, r.gradient32 + i);
  const __m512 g = _mm512_mul_ps(gradient, c.gradientScale);
  const __m512 m = _mm512_fmadd_ps(c.beta1, _mm512_maskz_loadu_ps(mask, r.m + i), _mm512_mul_ps(c.oneMinusBeta1, g));
  const __m512 v = _mm512_fmadd_ps(c.beta2, _mm512_maskz_loadu_ps(mask, r.v + i),
                                   _mm512_mul_ps(_mm512_mul_ps(c.oneMinusBeta2, g), g));
  const __m512 d = _mm512_fmadd_ps(_mm512_sqrt_ps(v), c.inverseSqrtBias2, c.epsilon);
  __m512 w;
  if constexpr (split16)
    w = join(_mm256_maskz_loadu_epi16(mask, r.hi + i), _mm256_maskz_loadu_epi16(mask, r.lo + i));
  else
    w = _mm512_maskz_loadu_ps(mask, r.weight + i);
  if constexpr (decay) w = _mm512_mul_ps(w, c.decayFactor);
  w = _mm512_fmadd_ps(c.minusStepSize, _mm512_div_ps(m, d), w);
  _mm512_mask_storeu_ps(r.m + i, mask, m);
  _mm512_mask_storeu_ps(r.v + i, mask, v);
  if constexpr (split16) {
    __m256i hi, lo;
    split(w, hi, lo);
    _mm256_mask_storeu_epi16(r.hi + i, mask, hi);
    _mm256_mask_storeu_epi16(r.lo + i, mask, lo);
  } else {
    _mm512_mask_storeu_ps(r.weight + i, mask, w);
  }
}

template <bool split16, bool bf16Gradient, bool decay>
void run(const AdamWRange& r) {
  const Constants c(r.scalars);
  std::size_t i = 0;
  for (; i + 16 <= r.count; i += 16) update<split16, bf16Gradient, decay>(r, c, i, 0xFFFF);
  if (i < r.count) update<split16, bf16Gradient, decay>(r, c, i, static_cast<__mmask16>((1u << (r.count - i)) - 1u));
}

template <bool split16, bool bf16Gradient>
void run(const AdamWRange& r) {
  r.decay ? run<split16, bf16Gradient, true>(r) : run<split16, bf16Gradient, false>(r);
}

} // namespace

void adamWAvx512(const AdamWRange& r) {
  if (r.weight)
    r.gradient32 ? run<false, false>(r) : run<false, true>(r);
  else
    r.gradient32 ? run<true, false>(r) : run<true, true>(r);
}

} // namespace millrace::cpu
