#include "train/sampler.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace millrace {

Status checkSampler(const SamplerOptions& options) {
  if (!std::isfinite(options.temperature) || options.temperature < 0)
    return badInput(
        fmt::format("temperature is {}, expected 0 (the likeliest token) or a positive number", options.temperature));
  if (options.topK < 0) return badInput(fmt::format("top-k is {}, expected 0 (all tokens) or more", options.topK));
  if (!(options.topP > 0 && options.topP <= 1))
    return badInput(fmt::format("top-p is {}, expected a number above 0 and at most 1", options.topP));
  return {};
}

Result<std::int32_t> Sampler::sample(std::span<const float> logits) {
  assert(!logits.empty());
  constexpr float ruledOut = -std::numeric_limits<float>::infinity();
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || (std::isinf(logits[i]) && logits[i] != ruledOut))
      return failed(fmt::format("the model's logit of token {} is {}: its weights are damaged, or training diverged", i,
                                logits[i]));
    if (logits[i] > logits[best]) best = i;
  }
  if (logits[best] == ruledOut) return failed("the model rules every token out: all its logits are minus infinity");
  if (m_options.temperature == 0) return static_cast<std::int32_t>(best);

  const double uniform = m_random.uniform();
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  m_order.resize(logits.size());
  std::iota(m_order.begin(), m_order.end(), 0);
  std::size_t kept = logits.size();
  if (m_options.topK > 0) kept = std::min(kept, static_cast<std::size_t>(m_options.topK));
  // Sorted as far as something depends on the order; drawing from all tokens does not.
  if (kept < m_order.size())
    std::nth_element(m_order.begin(), m_order.begin() + static_cast<std::ptrdiff_t>(kept), m_order.end(), before);
  m_order.resize(kept);
  if (m_options.topP < 1)
    std::sort(m_order.begin(), m_order.end(), before);
  else
    std::sort(m_order.begin(), m_order.end());

  m_weights.resize(kept);
  double total = 0;
  for (std::size_t i = 0; i < kept; ++i) {
    const double above = static_cast<double>(logits[static_cast<std::size_t>(m_order[i])]) - logits[best];
    total += m_weights[i] = std::exp(above / m_options.temperature);
  }
  if (m_options.topP < 1) {
    const double wanted = m_options.topP * total;
    double sum = 0;
    for (std::size_t i = 0; i < kept; ++i) {
      sum += m_weights[i];
      if (sum < wanted) continue;
      kept = i + 1;
      total = sum;
    }
  }

  double left = uniform * total;
  std::size_t last = 0; // rounding may leave a little when all are passed
  for (std::size_t i = 0; i < kept; ++i) {
    if (m_weights[i] == 0) continue;
    last = i;
    left -= m_weights[i];
    if (left < 0) break;
  }
  return m_order[last];
}

} // namespace millrace
