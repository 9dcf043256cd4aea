#include "train/evaluator.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace millrace {

Result<EvaluationResult> evaluate(ForwardRunner& runner, ValidationReader& reader, std::int64_t maxRows,
                                  const std::function<bool()>& stop) {
  reader.rewind();
  std::int64_t left = maxRows > 0 ? std::min(maxRows, reader.rows()) : reader.rows();
  EvaluationResult result;
  double sum = 0;
  std::int64_t bytes = 0;
  while (left > 0) {
    if (stop && stop()) return failure(ErrorKind::Interrupted, "stopped while evaluating");
    MILLRACE_TRY(const ValidationBatch batch, reader.next(std::min(left, runner.shape().rows)));
    if (batch.batch.rows == 0) break;
    const ForwardRunner::Loss loss = runner.loss(batch.batch);
    sum += loss.sum;
    result.targets += loss.targets;
    bytes = std::accumulate(batch.textBytes.begin(), batch.textBytes.end(), bytes);
    left -= batch.batch.rows;
  }
  if (result.targets == 0)
    return badInput("there is no validation text to evaluate on: raise data.validation_fraction");
  result.loss = sum / static_cast<double>(result.targets);
  result.perplexity = std::exp(result.loss);
  if (bytes > 0) result.bitsPerByte = sum / std::numbers::ln2 / static_cast<double>(bytes);
  return result;
}

} // namespace millrace
