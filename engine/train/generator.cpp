#include "train/generator.h"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>

namespace millrace {

std::int64_t Generator::capacity() const {
  const RunShape& shape = m_runner.shape();
  const std::int64_t planned = shape.cacheTokens > 0 ? shape.cacheTokens : shape.context;
  return m_runner.spec().learnedPositions ? std::min(planned, m_runner.spec().maxPositions) : planned;
}

std::vector<float> Generator::logitsAfter(std::span<const std::int32_t> sequence,
                                          const std::function<bool()>& betweenParts) {
  const RunShape& shape = m_runner.shape();
  if (shape.cacheTokens == 0) return m_runner.nextLogits(sequence);
  std::vector<float> logits;
  const auto length = static_cast<std::int64_t>(sequence.size());
  while (m_cached < length) {
    const std::int64_t count = std::min(shape.context, length - m_cached);
    logits = m_runner.nextLogitsCached(
        sequence.subspan(static_cast<std::size_t>(m_cached), static_cast<std::size_t>(count)), m_cached);
    m_cached += count;
    if (m_cached < length && betweenParts && !betweenParts()) return {};
  }
  return logits;
}

Result<GenerationResult> Generator::generate(const GenerationRequest& request,
                                             const std::function<bool(std::int32_t)>& token) {
  using Clock = std::chrono::steady_clock;
  MILLRACE_CHECK(checkSampler(request.sampling));
  const auto promptLength = static_cast<std::int64_t>(request.prompt.size());
  if (promptLength == 0) return badInput("the prompt has no tokens; give at least one");
  if (promptLength > capacity())
    return badInput(fmt::format("the prompt has {} tokens, and there is room for {}; shorten it, or allow a longer "
                                "context where the model has one",
                                promptLength, capacity()));
  for (const std::int32_t id : request.prompt)
    if (id < 0 || id >= m_runner.spec().vocabulary)
      return badInput(fmt::format("the prompt has token {}, but the model knows tokens 0 to {}: tokenizer and model do "
                                  "not belong together",
                                  id, m_runner.spec().vocabulary - 1));

  std::vector<std::int32_t> sequence(request.prompt.begin(), request.prompt.end());
  Sampler sampler(request.sampling, request.seed);
  m_cached = 0;
  GenerationResult result;
  const auto begin = Clock::now();
  auto first = begin;
  const auto ended = [&](GenerationEnd end) {
    const auto now = Clock::now();
    if (result.tokens == 0) first = now;
    result.promptSeconds = std::chrono::duration<double>(first - begin).count();
    result.generateSeconds = std::chrono::duration<double>(now - first).count();
    result.end = end;
    return result;
  };
  while (result.tokens < request.tokens) {
    if (static_cast<std::int64_t>(sequence.size()) >= capacity()) return ended(GenerationEnd::ContextFull);
    const std::vector<float> logits = logitsAfter(sequence, request.betweenParts);
    if (logits.empty()) return ended(GenerationEnd::Stopped);
    MILLRACE_TRY(const std::int32_t next, sampler.sample(logits));
    if (result.tokens == 0) first = Clock::now();
    if (std::find(request.endTokens.begin(), request.endTokens.end(), next) != request.endTokens.end())
      return ended(GenerationEnd::EndOfText);
    sequence.push_back(next);
    ++result.tokens;
    if (!token(next)) return ended(GenerationEnd::Stopped);
  }
  return ended(GenerationEnd::Length);
}

} // namespace millrace
