// Two or more runs side by side: what was set otherwise, how they did at equal steps, tokens and times, and whether
// their losses say anything about each other.
#pragma once

#include "base/file.h"
#include "base/json_reader.h"
#include "engine/run_details.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace {

struct ComparedRun {
  RunDetails details;
  std::int64_t steps = 0;
  std::int64_t tokens = 0;
  double seconds = 0;         ///< in steps: pauses, evaluations and checkpoints do not count
  std::optional<double> loss; ///< of training, mean over the last 100 steps that have a finite one
  double tokensPerSecond = 0; ///< over all steps; 0: there are none
  std::int64_t unfinite = 0;  ///< steps whose loss is not finite
};

/// A setting that is not the same in all of them, machine and program included. Keys as in project files, those of the
/// model's config.json behind "model.config.".
struct SettingDifference {
  std::string key;
  std::vector<std::optional<Json>> values; ///< of each run; nothing where it has no such setting
};

struct LossAt {
  std::optional<double> training;   ///< mean of the finite ones since the mark before
  std::optional<double> validation; ///< the last by then
};

/// Of each run up to `at`, in steps, tokens or seconds in steps.
struct LossesAt {
  double at = 0;
  std::vector<LossAt> runs;
};

struct RunComparison {
  std::vector<ComparedRun> runs; ///< in the order that was asked for
  std::vector<SettingDifference> settings;
  /// Why losses cannot be compared, or only with care; whole sentences.
  std::vector<std::string> warnings;
  /// At up to ten equal marks as far as all of them went; none where one has no step.
  std::vector<LossesAt> bySteps;
  std::vector<LossesAt> byTokens;
  std::vector<LossesAt> bySeconds;
};

/// Reads the metrics of each twice, in bounded memory. BadInput for fewer than two, and where one is no run.
Result<RunComparison> compareRuns(FileSystem& files, std::span<const Path> runs);

} // namespace millrace
