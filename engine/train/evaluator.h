// The loss over documents that are held back.
#pragma once

#include "data/sliding_windows.h"
#include "data/validation_reader.h"
#include "engine/set_loss.h"
#include "train/forward_runner.h"

namespace millrace {

struct EvaluationResult {
  double loss = 0; ///< mean over targets, nats
  double perplexity = 0;
  double bitsPerByte = 0; ///< of the text that the targets stand for; 0 when that is not known
  std::int64_t targets = 0;
  std::vector<SetLoss> sets; ///< by name; empty where the data names no sets
};

/// Evaluates at most maxRows rows (0: all), from the first. All scheduled updates must have been applied. Interrupted
/// when stop() answers true between batches; BadInput when the rows hold no target.
Result<EvaluationResult> evaluate(ForwardRunner& runner, ValidationReader& reader, std::int64_t maxRows,
                                  const std::function<bool()>& stop = {});

/// The sum of the losses of all windows' targets, of at least one. The runner's context is the windows'. stop: as
/// above, told how many windows are done.
Result<ForwardRunner::Loss> evaluate(ForwardRunner& runner, const SlidingWindows& windows,
                                     const std::function<bool(std::int64_t done)>& stop);

} // namespace millrace
