// Generator: continues a sequence of tokens with a model, one token at a time. With a key/value cache in the runner's
// plan a token costs one token's forward; without, the whole sequence so far. One thread, the runner's.
#pragma once

#include "train/forward_runner.h"
#include "train/sampler.h"

#include <cstdint>
#include <functional>
#include <span>

namespace millrace {

enum class GenerationEnd {
  EndOfText,   ///< the model produced an end token
  Length,      ///< as many tokens as asked for
  ContextFull, ///< no room for a further position: nothing slides, generation stops
  Stopped,     ///< the caller said so
};

struct GenerationRequest {
  std::span<const std::int32_t> prompt; ///< at least one token, at most capacity()
  std::int64_t tokens = 0;              ///< new ones, at most
  std::span<const std::int32_t> endTokens;
  SamplerOptions sampling;
  std::uint64_t seed = 0;
  /// Called between the parts in which a prompt is computed with a cache; false stops.
  std::function<bool()> betweenParts = {};
};

struct GenerationResult {
  GenerationEnd end = GenerationEnd::Length;
  std::int64_t tokens = 0;    ///< given to the callback
  double promptSeconds = 0;   ///< until the first token was known
  double generateSeconds = 0; ///< for those after it
};

class Generator {
 public:
  /// The runner must outlive it.
  explicit Generator(ForwardRunner& runner) : m_runner(runner) {}

  /// Tokens that a sequence may have, prompt and new ones together: the cache's, else the planned context.
  std::int64_t capacity() const;

  /// token: each new one in turn, end tokens left out; false stops. Errors: BadInput for a prompt or options that
  /// cannot be; Failed when the logits are no numbers.
  Result<GenerationResult> generate(const GenerationRequest& request, const std::function<bool(std::int32_t)>& token);

 private:
  /// Empty where betweenParts stopped it.
  std::vector<float> logitsAfter(std::span<const std::int32_t> sequence, const std::function<bool()>& betweenParts);

  ForwardRunner& m_runner;
  std::int64_t m_cached = 0; ///< tokens of the running sequence whose keys and values are in the cache
};

} // namespace millrace
