#include "device/cpu/ops/route.h"

#include "base/bf16.h"
#include "device/cpu/ops/rows.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace millrace::cpu {

namespace {

/// The experts of one token, best first, and their weights.
void choose(const float* logits, std::int64_t experts, std::int64_t choices, bool normalize, std::int32_t* chosen,
            float* weights) {
  for (std::int64_t j = 0; j < choices; ++j) {
    std::int32_t best = -1;
    for (std::int32_t e = 0; e < experts; ++e) {
      if (std::find(chosen, chosen + j, e) != chosen + j) continue;
      if (best < 0 || logits[e] > logits[best]) best = e;
    }
    chosen[j] = best;
  }
  const float largest = logits[chosen[0]];
  float sum = 0;
  for (std::int64_t j = 0; j < choices; ++j) {
    weights[j] = std::exp(logits[chosen[j]] - largest);
    if (normalize) sum += weights[j];
  }
  for (std::int64_t e = 0; e < experts && !normalize; ++e) sum += std::exp(logits[e] - largest);
  for (std::int64_t j = 0; j < choices; ++j) weights[j] /= sum;
}

Cut cutTokens(std::int64_t tokens, std::int64_t experts) {
  return Cut(tokens, 1, std::max<std::int64_t>(1, 4096 / experts));
}

} // namespace

void route(ThreadPool& pool, const RouteArgs& args) {
  const std::int64_t tokens = args.logits.shape[0], experts = args.logits.shape[1], choices = args.experts.shape[1];
  auto* chosen = args.experts.as<std::int32_t>();
  auto* weights = args.weights.as<float>();
  const Cut cut = cutTokens(tokens, experts);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    for (std::int64_t t = p.row; t < p.row + p.rows; ++t)
      choose(args.logits.as<float>() + t * experts, experts, choices, args.normalize, chosen + t * choices,
             weights + t * choices);
  });
  // Rows by expert, of one expert by token.
  auto* begins = args.begins.as<std::int32_t>();
  std::fill_n(begins, experts + 1, 0);
  for (std::int64_t c = 0; c < tokens * choices; ++c) ++begins[chosen[c] + 1];
  for (std::int64_t e = 0; e < experts; ++e) begins[e + 1] += begins[e];
  std::vector<std::int32_t> next(begins, begins + experts);
  for (std::int64_t c = 0; c < tokens * choices; ++c) {
    const std::int32_t row = next[static_cast<std::size_t>(chosen[c])]++;
    args.rows.as<std::int32_t>()[c] = row;
    args.tokens.as<std::int32_t>()[row] = static_cast<std::int32_t>(c / choices);
    args.rowWeights.as<float>()[row] = weights[c];
  }
}

namespace {

template <class T>
T asElement(float value);
template <>
float asElement<float>(float value) {
  return value;
}
template <>
BFloat16 asElement<BFloat16>(float value) {
  return toBFloat16(value);
}

/// With g the gradients of the weights of the chosen and s = sum of g times weight: weight (g - s) for each of them;
/// and where the scores are of all experts, -score s for each of the others.
template <class T>
void backwardOf(const RouteBackwardArgs& args, std::int64_t t) {
  const std::int64_t experts = args.logits.shape[1], choices = args.experts.shape[1];
  const float* logits = args.logits.as<float>() + t * experts;
  const auto* chosen = args.experts.as<std::int32_t>() + t * choices;
  const float* weights = args.weights.as<float>() + t * choices;
  const auto* rows = args.rows.as<std::int32_t>() + t * choices;
  T* out = args.dLogits.as<T>() + t * experts;
  float sum = 0;
  for (std::int64_t j = 0; j < choices; ++j) sum += args.dRowWeights.as<float>()[rows[j]] * weights[j];
  // A score is to its weight as the exponentials are.
  const float best = logits[chosen[0]], factor = args.normalize ? 0.0f : -sum * weights[0];
  for (std::int64_t e = 0; e < experts; ++e)
    out[e] = asElement<T>(args.normalize ? 0.0f : factor * std::exp(logits[e] - best));
  for (std::int64_t j = 0; j < choices; ++j)
    out[chosen[j]] = asElement<T>(weights[j] * (args.dRowWeights.as<float>()[rows[j]] - sum));
}

} // namespace

void routeBackward(ThreadPool& pool, const RouteBackwardArgs& args) {
  const Cut cut = cutTokens(args.logits.shape[0], args.logits.shape[1]);
  pool.parallelFor(cut.pieces(), [&](std::int64_t i) {
    const Piece p = cut.piece(i);
    for (std::int64_t t = p.row; t < p.row + p.rows; ++t)
      args.dLogits.dtype == DType::BF16 ? backwardOf<BFloat16>(args, t) : backwardOf<float>(args, t);
  });
}

} // namespace millrace::cpu
