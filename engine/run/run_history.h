// What events.jsonl tells over the whole of a run: when it began, and every evaluation.
#pragma once

#include "engine/run_details.h" // EvaluatedStep
#include "run/run_directory.h"

#include <vector>

namespace millrace {

struct RunHistory {
  double began = 0;                       ///< seconds since 1970; 0: nothing tells
  std::vector<EvaluatedStep> evaluations; ///< steps in rising order
};

/// Streams the file. Of a step that a resumed run evaluated again the later figure holds. A missing file tells nothing.
Result<RunHistory> readHistory(FileSystem& files, const RunDirectory& run);

/// The lowest finite loss, the earliest of equals; nothing when there is none.
std::optional<EvaluatedStep> bestOf(const std::vector<EvaluatedStep>& evaluations);

} // namespace millrace
