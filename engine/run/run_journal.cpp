#include "run/run_journal.h"

#include "run/metrics_file.h"

namespace millrace {

Result<RunJournal> RunJournal::open(FileSystem& files, const RunDirectory& run,
                                    std::optional<std::int64_t> resumeStep) {
  if (resumeStep) MILLRACE_CHECK(cutMetrics(files, run.metrics(), *resumeStep));
  MILLRACE_TRY(JsonLinesWriter metrics, JsonLinesWriter::open(files, run.metrics()));
  MILLRACE_TRY(JsonLinesWriter events, JsonLinesWriter::open(files, run.events()));
  MILLRACE_TRY(JsonLinesWriter samples, JsonLinesWriter::open(files, run.samples()));
  MILLRACE_CHECK(files.syncDirectory(run.path()));
  return RunJournal(std::move(metrics), std::move(events), std::move(samples));
}

Status RunJournal::append(const RunEvent& event) {
  if (const auto* metrics = std::get_if<StepMetrics>(&event.body)) return m_metrics.append(toJson(*metrics));
  if (std::holds_alternative<LogLine>(event.body)) return {};
  const bool sample = std::holds_alternative<Sample>(event.body);
  return (sample ? m_samples : m_events).append(toJson(event));
}

Status RunJournal::retry() {
  const Status metrics = m_metrics.retry();
  const Status events = m_events.retry();
  const Status samples = m_samples.retry();
  return !metrics ? metrics : !events ? events : samples;
}

Status RunJournal::sync() {
  const Status metrics = m_metrics.sync();
  const Status events = m_events.sync();
  const Status samples = m_samples.sync();
  return !metrics ? metrics : !events ? events : samples;
}

std::size_t RunJournal::pendingLines() const {
  return m_metrics.pendingLines() + m_events.pendingLines() + m_samples.pendingLines();
}

std::uint64_t RunJournal::droppedLines() const {
  return m_metrics.droppedLines() + m_events.droppedLines() + m_samples.droppedLines();
}

} // namespace millrace
