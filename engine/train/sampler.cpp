#include "train/sampler.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <vector>

namespace millrace {

Result<std::int32_t> sampleToken(std::span<const float> logits, const SamplingOptions& options, Random& random) {
  const auto broken = std::find_if(logits.begin(), logits.end(), [](float x) { return std::isnan(x) || x == HUGE_VALF; });
  if (broken != logits.end())
    return failed(fmt::format("the logit of token {} is {}: the model's weights are broken; use an earlier checkpoint",
                              broken - logits.begin(), *broken));
  const auto likeliest = static_cast<std::int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
  if (options.temperature <= 0) return likeliest;

  std::vector<std::int32_t> candidates(logits.size());
  std::iota(candidates.begin(), candidates.end(), 0);
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  auto count = static_cast<std::int64_t>(candidates.size());
  if (options.topK > 0) count = std::min(count, options.topK);
  std::partial_sort(candidates.begin(), candidates.begin() + count, candidates.end(), likelier);
  candidates.resize(static_cast<std::size_t>(count));

  const double largest = logits[static_cast<std::size_t>(likeliest)];
  std::vector<double> weights;
  double total = 0;
  for (const std::int32_t token : candidates) {
    weights.push_back(std::exp((static_cast<double>(logits[static_cast<std::size_t>(token)]) - largest) / options.temperature));
    total += weights.back();
  }
  double kept = total;
  if (options.topP < 1.0) {
    kept = 0;
    std::size_t n = 0;
    while (n < weights.size() && (n == 0 || kept < options.topP * total)) kept += weights[n++];
    weights.resize(n);
  }
  double point = random.uniform() * kept;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    point -= weights[i];
    if (point < 0) return candidates[i];
  }
  return candidates[weights.size() - 1]; // rounding left a little over
}

} // namespace millrace
