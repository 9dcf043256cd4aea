// Choosing the next token from a model's logits. Pure; the random numbers come from the caller's generator.
#pragma once

#include "base/random.h"
#include "base/result.h"

#include <cstdint>
#include <span>

namespace millrace {

struct SamplingOptions {
  double temperature = 1.0; ///< 0: the likeliest token, the lowest id among equals
  std::int64_t topK = 0;    ///< candidates kept, the likeliest first; 0: all
  double topP = 1.0;        ///< the fewest candidates whose probabilities reach this sum; 1: all
};

/// A token id; one number is drawn unless the temperature is 0. Failed when a logit is NaN or +infinity: the model is broken.
Result<std::int32_t> sampleToken(std::span<const float> logits, const SamplingOptions& options, Random& random);

} // namespace millrace
