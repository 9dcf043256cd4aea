#include "device/cpu/ops/adamw_range.h"

#include "base/bf16.h"

#include <cmath>

namespace millrace::cpu {

void adamWScalar(const AdamWRange& range) {
  const AdamWScalars& s = range.scalars;
  for (std::size_t i = 0; i < range.count; ++i) {
    const float gradient = range.gradient32 ? range.gradient32[i] : toFloat(BFloat16{range.gradient16[i]});
    const float g = gradient * s.gradientScale;
    const float m = std::fma(s.beta1, range.m[i], s.oneMinusBeta1 * g);
    const float v = std::fma(s.beta2, range.v[i], (s.oneMinusBeta2 * g) * g);
    const float d = std::fma(std::sqrt(v), s.inverseSqrtBias2, s.epsilon);
    const float w = range.weight ? range.weight[i] : joinWeight(range.hi[i], range.lo[i]);
    const float w1 = range.decay ? w * s.decayFactor : w;
    const float updated = std::fma(-s.stepSize, m / d, w1);
    range.m[i] = m;
    range.v[i] = v;
    if (range.weight) {
      range.weight[i] = updated;
    } else {
      const SplitWeight split = splitWeight(updated);
      range.hi[i] = split.hi;
      range.lo[i] = split.lo;
    }
  }
}

} // namespace millrace::cpu
