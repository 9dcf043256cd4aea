// exp, the logistic function, tanh and the normal distribution on registers of floats, without branches. Only for
// sources of millrace_isa_sources(); see simd.h.
#pragma once

#include "device/cpu/ops/simd.h"

namespace millrace::cpu::MILLRACE_ISA {
namespace {

MILLRACE_INLINE F32v absolute(F32v x) {
  return reinterpret_cast<F32v>(reinterpret_cast<U32v>(x) & 0x7FFFFFFFu);
}
MILLRACE_INLINE F32v minusAbsolute(F32v x) {
  return reinterpret_cast<F32v>(reinterpret_cast<U32v>(x) | 0x80000000u);
}

/// e^x for x <= 0, within 2 ulp; 0 where the result would be denormal (below 2^-126), NaN for NaN. The kernels are
/// written so that they need no other x.
MILLRACE_INLINE F32v expOf(F32v x) {
  // x = n ln2 + r with |r| <= ln2 / 2; adding and subtracting 1.5 * 2^23 rounds to the nearest integer, and leaves it
  // in the lowest bits.
  const F32v shifted = x * 1.44269504f + 12582912.0f;
  const F32v n = shifted - 12582912.0f;
  const F32v r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  // e^r = 1 + r + r^2 q(r), q minimax for the relative error (3.3e-9).
  F32v q = r * 0.00138131448f + 0.00836941972f;
  q = q * r + 0.041668456f;
  q = q * r + 0.166665152f;
  q = q * r + 0.49999994f;
  const F32v power = (q * (r * r) + r) + 1.0f;
  // Times 2^n. For NaN the scale is anything, and power keeps the NaN.
  const F32v scale = reinterpret_cast<F32v>((reinterpret_cast<U32v>(shifted) << 23) + 0x3F800000u);
  return x < -87.3365402f ? F32v{} : power * scale;
}

/// The logistic function and its slope, each to a few ulp: 1 - value is never formed.
struct Logistic {
  F32v value, slope;
};
MILLRACE_INLINE Logistic logistic(F32v x) {
  const F32v e = expOf(minusAbsolute(x));
  const F32v upper = 1.0f / (1.0f + e);
  const F32v lower = e * upper;
  return {x < 0.0f ? lower : upper, lower * upper};
}
MILLRACE_INLINE F32v sigmoid(F32v x) {
  const F32v e = expOf(minusAbsolute(x));
  return (x < 0.0f ? e : splat(1.0f)) / (1.0f + e);
}

/// The hyperbolic tangent, within a few ulp everywhere.
MILLRACE_INLINE F32v tanhOf(F32v x) {
  const F32v a = absolute(x);
  const F32v e = expOf(a * -2.0f);
  const F32v far = (1.0f - e) / (1.0f + e);
  // Near 0 the difference would cancel: x + x^3 p(x^2), minimax for the relative error up to 0.65 (7e-9).
  const F32v square = x * x;
  F32v p = square * -0.00551516190f + 0.0204694178f;
  p = p * square - 0.0536880232f;
  p = p * square + 0.133308306f;
  p = p * square - 0.333332598f;
  const F32v near = a + a * (square * p);
  const F32v magnitude = a < 0.65f ? near : far;
  return x < 0.0f ? -magnitude : magnitude;
}

/// The standard normal's cumulative distribution and density at x. Absolute error below 2e-7.
struct Normal {
  F32v cumulative, density;
};
MILLRACE_INLINE Normal normal(F32v x) {
  const F32v a = absolute(x);
  const F32v e = expOf(a * a * -0.5f);
  // P(X > a) = e^(-a^2/2) R(a), with R a polynomial in t = 1 / (1 + 0.33 a), minimax over the range that matters
  // (1e-8).
  const F32v t = 1.0f / (1.0f + 0.33f * a);
  F32v p = t * 0.0454936661f - 0.2203511f;
  p = p * t + 0.330819577f;
  p = p * t - 0.0889275298f;
  p = p * t + 0.180866584f;
  p = p * t + 0.119481683f;
  p = p * t + 0.132617116f;
  const F32v upper = e * (p * t);
  return {x < 0.0f ? upper : 1.0f - upper, e * 0.398942280f};
}

} // namespace
} // namespace millrace::cpu::MILLRACE_ISA
