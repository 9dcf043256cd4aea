// Following a run directory that some other process (or this one) writes: first what is there, then what comes, in
// order of time, until the run ends.
#pragma once

#include "engine/run_event.h"
#include "run/descriptor.h"
#include "run/json_lines_reader.h"
#include "run/run_status.h"

#include <array>
#include <atomic>
#include <optional>

namespace millrace {

/// Reads metrics.jsonl, events.jsonl and samples.jsonl; waits for them to grow with inotify, and looks once a second
/// where that is not to be had (other machines' writes on network file systems). One thread calls next().
class RunFollower {
 public:
  /// From the first step above `afterStep` on; -1: from the beginning.
  static Result<RunFollower> open(FileSystem& files, const RunDirectory& run, std::int64_t afterStep = -1);

  RunFollower(RunFollower&&) noexcept;
  RunFollower& operator=(RunFollower&&) = delete;

  /// The next event, waiting for it while a process works on the run; nothing when the run has ended and everything was
  /// given out, or after stop(). Steps come without gaps. Should the run be resumed from an earlier checkpoint
  /// meanwhile, its steps from there on come again with their new figures. Lines that say nothing are passed over, and
  /// a log line tells of them once what there is was given out.
  Result<std::optional<RunEvent>> next();

  /// Makes next() return nothing, now and later. Any thread, and signal handlers.
  void stop();

 private:
  struct Source {
    explicit Source(JsonLinesReader reader) : lines(std::move(reader)) {}
    JsonLinesReader lines;
    std::optional<RunEvent> head;
    std::uint64_t emptyAt = 0; ///< m_reads when no line was found; 0: not known to be empty
    std::uint64_t damaged = 0; ///< lines that were passed over and not told of yet
    Bytes firstDamaged = 0;    ///< where the first of them begins
  };

  RunFollower(FileSystem& files, const RunDirectory& run, std::int64_t afterStep, Bytes metricsOffset);
  Status fillHeads();
  bool hasHead() const;
  Status fill(std::size_t source);
  Status goBack();
  std::optional<RunEvent> takeEarliest();
  std::optional<RunEvent> takeDamage();
  void waitForChange();

  FileSystem& m_files;
  RunDirectory m_run;
  std::int64_t m_afterStep;
  std::array<Source, 3> m_sources; // metrics, events, samples
  std::int64_t m_attempts = 0;     // of metrics, known so far
  std::int64_t m_lastStep = 0;     // of what was given out
  std::uint64_t m_reads = 1;       // advances when bytes of any source are read
  Descriptor m_notify;
  Descriptor m_stopEvent;
  std::atomic<bool> m_stopped{false};
};

} // namespace millrace
