// How a run stands, seen from outside: from its lock, its owner's record and the ends of its files.
#pragma once

#include "engine/runs.h" // RunOutcome
#include "run/run_directory.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace {

struct RunStatus {
  RunOutcome outcome = RunOutcome::Interrupted;
  std::string reason;               ///< why interrupted or failed
  std::optional<RunState> state;    ///< the last that was reported
  std::optional<OwnerRecord> owner; ///< who works or worked on it last
};

RunStatus runStatus(FileSystem& files, const RunDirectory& run);

/// One row of a list of runs.
struct RunSummary {
  std::string name;
  Path path;
  RunStatus status;
  std::optional<StepMetrics> last; ///< nothing before the first step
  double changed = 0;              ///< last sign of life, seconds since 1970; 0: none
};

RunSummary summarize(FileSystem& files, const RunDirectory& run);

/// The runs directly inside the folder, newest sign of life first. A missing folder has none.
Result<std::vector<RunSummary>> listRuns(FileSystem& files, const Path& folder);

} // namespace millrace
