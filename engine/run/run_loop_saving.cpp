// How a run is kept: checkpoints between steps and at its end, and what a disk that is full, or a folder that somebody
// removed, asks of it.
#include "run/run_loop.h"
#include "run/store_state.h"

#include <fmt/format.h>

namespace millrace {

namespace {
/// How long a full disk is waited for between looks.
constexpr auto spacePoll = std::chrono::seconds(2);
} // namespace

bool RunLoop::saved() {
  m_run.state.cursor = m_cursor;
  return m_saved == m_run.state;
}

Status RunLoop::save() {
  MILLRACE_CHECK(restoreFolder());
  const StoreState parameters(*m_run.trainer);
  SaveOptions options;
  options.abandoned = [this] { return m_requests.abandoning(); };
  MILLRACE_TRY(const SavedCheckpoint written, m_checkpoints.save({parameters, m_run.state, m_run.configText,
                                                                  m_run.tokenizerText, m_description.companions},
                                                                 options));
  m_lastCheckpoint = written.path;
  m_saved = m_run.state;
  (void)report(CheckpointSaved{written.path.string(), written.seconds, written.bytes});
  m_checkpointBytes = written.bytes;
  if (m_project.checkpoint.keepBest && isBest())
    MILLRACE_CHECK(m_checkpoints.markBest(m_run.state.step, *m_run.state.bestValidationLoss));
  MILLRACE_CHECK(m_checkpoints.rotate(static_cast<int>(m_project.checkpoint.keep)));
  warnOfLittleSpace();
  return {};
}

Status RunLoop::restoreFolder() {
  if (m_files.exists(m_directory.runFile())) return {};
  MILLRACE_CHECK(m_files.createDirectories(m_directory.checkpoints()));
  MILLRACE_CHECK(writeRunFile(m_files, m_directory, runFileContents(m_description)));
  alert("folder-removed", fmt::format("{} was removed while the run was at work", m_directory.path().string()),
        "its description and the checkpoint are written there again, so that it can be resumed; its metrics until "
        "then are lost");
  return {};
}

void RunLoop::warnOfLittleSpace() {
  const auto free = m_files.freeSpace(m_directory.path());
  if (!free) return; // the next write will tell
  const bool low = *free < m_checkpointBytes + m_checkpointBytes / 4;
  if (low && !m_spaceIsLow)
    alert("disk-low",
          fmt::format("{} are free where the run is, and its next checkpoint takes {}", formatBytes(*free),
                      formatBytes(m_checkpointBytes)),
          "make room, or lower checkpoint.keep of the next run; when the disk is full this run pauses");
  m_spaceIsLow = low;
}

Status RunLoop::saveNow() {
  if (saved()) return {};
  setState(RunState::Saving);
  m_run.trainer->applyPending();
  const StepClock::Stop outside(m_clock);
  const auto attempt = [&]() -> Status {
    // Steps that a checkpoint covers must not be lost from the metrics by a power failure after it.
    MILLRACE_CHECK(m_reporter.retry());
    MILLRACE_CHECK(m_reporter.sync());
    return save();
  };
  Status outcome = attempt();
  if (!outcome && outcome.error().kind == ErrorKind::OutOfSpace) outcome = waitForSpace(outcome.error(), attempt);
  m_lastSave = std::chrono::steady_clock::now();
  MILLRACE_CHECK(outcome);
  setState(RunState::Running);
  return {};
}

Status RunLoop::waitForSpace(const Error& problem, const std::function<Status()>& retry) {
  m_run.trainer->applyPending();
  const StepClock::Stop outside(m_clock);
  alert("disk-full", problem.message, "make room and the run goes on by itself; nothing is lost");
  setState(RunState::Paused, problem.message);
  for (;;) {
    if (m_requests.waitForStop(std::chrono::duration_cast<std::chrono::milliseconds>(spacePoll)))
      return failure(ErrorKind::Interrupted, "stopped while the disk was full");
    const Status outcome = retry();
    if (outcome) {
      m_log.info("there is room on the disk again");
      setState(RunState::Running);
      return {};
    }
    if (outcome.error().kind != ErrorKind::OutOfSpace) return outcome;
  }
}

Status RunLoop::interrupted() {
  setState(RunState::Stopping);
  m_run.trainer->applyPending();
  if (!saved()) {
    // A checkpoint is worth more than the lines of a journal that cannot be written.
    (void)m_reporter.retry();
    (void)m_reporter.sync();
    setState(RunState::Saving);
    const Status outcome = save();
    if (!outcome && outcome.error().kind == ErrorKind::Interrupted)
      return failure(ErrorKind::Interrupted, m_lastCheckpoint.empty()
                                                 ? "stopped; the save was given up"
                                                 : "stopped; the save was given up and the checkpoint before stands");
    MILLRACE_CHECK(outcome);
  }
  drawCharts();
  tellCompression();
  return failure(ErrorKind::Interrupted, fmt::format("stopped and saved after step {}", m_run.state.step));
}

} // namespace millrace
