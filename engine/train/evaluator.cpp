#include "train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>

namespace millrace {

namespace {

/// What is summed up over targets, of all or of one set.
struct Sums {
  double loss = 0;
  std::int64_t targets = 0;
  std::int64_t bytes = 0;

  double mean() const { return loss / static_cast<double>(targets); }
  double bitsPerByte() const { return bytes > 0 ? loss / std::numbers::ln2 / static_cast<double>(bytes) : 0; }
};

/// Sums by set, a loss for each position.
void addBySet(const ValidationReader& reader, const ValidationBatch& batch, std::span<const float> losses,
              std::map<std::string, Sums>& sums) {
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::int32_t target = batch.batch.targets[i];
    if (target < 0) continue;
    Sums& set = sums[reader.setNames()[batch.sets[i]]];
    set.loss += static_cast<double>(losses[i]);
    ++set.targets;
    set.bytes += reader.textBytes(target);
  }
}

} // namespace

Result<EvaluationResult> evaluate(ForwardRunner& runner, ValidationReader& reader, std::int64_t maxRows,
                                  const std::function<bool()>& stop) {
  reader.rewind();
  std::int64_t left = maxRows > 0 ? maxRows : std::numeric_limits<std::int64_t>::max();
  Sums all;
  std::map<std::string, Sums> bySet;
  while (left > 0) {
    if (stop && stop()) return failure(ErrorKind::Interrupted, "stopped while evaluating");
    MILLRACE_TRY(const ValidationBatch batch, reader.next(std::min(left, runner.shape().rows)));
    if (batch.batch.rows == 0) break;
    if (batch.sets.empty()) {
      const ForwardRunner::Loss loss = runner.loss(batch.batch);
      all.loss += loss.sum;
      all.targets += loss.targets;
    } else {
      const std::vector<float> losses = runner.targetLosses(batch.batch);
      addBySet(reader, batch, losses, bySet);
    }
    all.bytes = std::accumulate(batch.textBytes.begin(), batch.textBytes.end(), all.bytes);
    left -= batch.batch.rows;
  }
  EvaluationResult result;
  for (const auto& [name, sums] : bySet) {
    all.loss += sums.loss;
    all.targets += sums.targets;
    result.sets.push_back({name, sums.mean(), std::exp(sums.mean()), sums.bitsPerByte(), sums.targets});
  }
  if (all.targets == 0) return badInput("there is no validation text to evaluate on: raise data.validation_fraction");
  result.loss = all.mean();
  result.perplexity = std::exp(result.loss);
  result.bitsPerByte = all.bitsPerByte();
  result.targets = all.targets;
  return result;
}

Result<ForwardRunner::Loss> evaluate(ForwardRunner& runner, const SlidingWindows& windows,
                                     const std::function<bool(std::int64_t done)>& stop) {
  ForwardRunner::Loss all;
  for (std::int64_t done = 0; done < windows.windows();) {
    if (stop(done)) return failure(ErrorKind::Interrupted, "stopped while evaluating");
    const std::int64_t rows = std::min(runner.shape().rows, windows.windows() - done);
    const ForwardRunner::Loss loss = runner.loss(windows.batch(done, rows));
    all.sum += loss.sum;
    all.targets += loss.targets;
    done += rows;
  }
  if (all.targets == 0) return badInput("the text has less than two tokens: there is nothing to predict");
  return all;
}

} // namespace millrace
