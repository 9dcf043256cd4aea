// What a run writes down while it goes: metrics.jsonl, events.jsonl and samples.jsonl behind one append.
#pragma once

#include "engine/run_event.h"
#include "run/json_lines_writer.h"
#include "run/run_directory.h"

#include <cstdint>
#include <optional>

namespace millrace {

/// Only for the holder of the run's lock; one thread at a time.
class RunJournal {
 public:
  /// Repairs torn ends. With a step (a resume from that checkpoint) metrics of later steps are moved aside first.
  static Result<RunJournal> open(FileSystem& files, const RunDirectory& run, std::optional<std::int64_t> resumeStep);

  /// Steps to metrics, samples to samples, everything else but log lines (which log.txt has) to events. On an error
  /// (OutOfSpace: the disk is full) the line waits in memory: see JsonLinesWriter.
  Status append(const RunEvent& event);
  /// Writes what waits.
  Status retry();
  /// All of it on stable storage: before a checkpoint takes its name, so that no step that it covers can be lost.
  Status sync();

  std::size_t pendingLines() const;
  std::uint64_t droppedLines() const;

 private:
  RunJournal(JsonLinesWriter metrics, JsonLinesWriter events, JsonLinesWriter samples)
      : m_metrics(std::move(metrics)), m_events(std::move(events)), m_samples(std::move(samples)) {}

  JsonLinesWriter m_metrics;
  JsonLinesWriter m_events;
  JsonLinesWriter m_samples;
};

} // namespace millrace
