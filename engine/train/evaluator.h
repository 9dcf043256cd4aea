// The loss over documents that are held back.
#pragma once

#include "data/validation_reader.h"
#include "train/forward_runner.h"

namespace millrace {

struct EvaluationResult {
  double loss = 0; ///< mean over targets, nats
  double perplexity = 0;
  double bitsPerByte = 0; ///< of the text that the targets stand for; 0 when that is not known
  std::int64_t targets = 0;
};

/// Evaluates at most maxRows rows (0: all), from the first. All scheduled updates must have been applied. Interrupted
/// when stop() answers true between batches; BadInput when the rows hold no target.
Result<EvaluationResult> evaluate(ForwardRunner& runner, ValidationReader& reader, std::int64_t maxRows,
                                  const std::function<bool()>& stop = {});

} // namespace millrace
