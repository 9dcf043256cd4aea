// The choice of the next token from a model's logits. Deterministic: the same logits, options and random state give the
// same token. One thread at a time.
#pragma once

#include "base/random.h"
#include "base/result.h"

#include <cstdint>
#include <span>
#include <vector>

namespace millrace {

struct SamplerOptions {
  double temperature = 1; ///< 0: the likeliest token
  std::int64_t topK = 0;  ///< only the k likeliest; 0: all
  double topP = 1;        ///< only the fewest likeliest tokens whose probabilities add up to this; 1: all
};

/// BadInput naming the option and its range: temperature finite and not negative, topK not negative, topP in (0, 1].
Status checkSampler(const SamplerOptions& options);

class Sampler {
 public:
  /// The options must have passed checkSampler().
  Sampler(const SamplerOptions& options, std::uint64_t seed) : m_options(options), m_random(seed, "sampler") {}

  /// An index into the logits. Of equal ones the lower index comes first. Draws one random number, none at temperature
  /// 0. Failed, naming the index, when a logit is NaN or infinite (a logit of minus infinity is a token that is ruled
  /// out; at least one must be finite).
  Result<std::int32_t> sample(std::span<const float> logits);

 private:
  const SamplerOptions m_options;
  Random m_random;
  std::vector<std::int32_t> m_order;
  std::vector<double> m_weights;
};

} // namespace millrace
