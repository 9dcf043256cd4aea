// metrics.jsonl: one StepMetrics a line, steps in rising order. Finding a step, cutting the file back for a resume,
// streaming it.
#pragma once

#include "engine/step_metrics.h"
#include "run/json_lines_reader.h"

#include <optional>
#include <vector>

namespace millrace {

/// The byte at which the first line with a step above `step` begins; the file's size when there is none. A missing file
/// is an empty one. Reads a few lines only.
Result<Bytes> offsetAfterStep(FileSystem& files, const Path& metrics, std::int64_t step);

/// The last step that was written, if any.
Result<std::optional<StepMetrics>> lastMetrics(FileSystem& files, const Path& metrics);

struct MetricsCut {
  Path kept; ///< metrics.attempt-N.jsonl with the lines that were cut off; empty when there were none
  Bytes bytes = 0;
};

/// For a resume from the checkpoint of `step`: lines of later steps move to a metrics.attempt-N.jsonl beside the file.
/// They are on stable storage before they leave the file; may be repeated after a kill. Not while anyone appends.
Result<MetricsCut> cutMetrics(FileSystem& files, const Path& metrics, std::int64_t step);

/// The numbers N of the attempt files beside it, rising.
Result<std::vector<std::int64_t>> metricsAttempts(FileSystem& files, const Path& metrics);
Path metricsAttemptPath(const Path& metrics, std::int64_t attempt);

/// Streams the steps above `step`; damaged lines are passed over and counted.
class MetricsReader {
 public:
  static Result<MetricsReader> open(FileSystem& files, const Path& metrics, std::int64_t afterStep = -1);
  /// Nothing at the end, for now.
  Result<std::optional<StepMetrics>> next();
  std::uint64_t damagedLines() const { return m_damaged + m_lines.skippedLines(); }

 private:
  explicit MetricsReader(JsonLinesReader lines) : m_lines(std::move(lines)) {}
  JsonLinesReader m_lines;
  std::uint64_t m_damaged = 0;
};

} // namespace millrace
