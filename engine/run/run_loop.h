// RunLoop: what a run's thread does once everything is prepared: steps, evaluations, samples, checkpoints, pauses,
// until the length is reached or somebody stops it.
#pragma once

#include "engine/run.h"
#include "optim/lr_schedule.h"
#include "run/loss_watch.h"
#include "run/run_preparation.h"
#include "run/run_reporter.h"
#include "run/step_clock.h"

#include <atomic>
#include <chrono>

namespace millrace {

/// What other threads may read of a run.
struct RunGauge {
  std::atomic<RunState> state{RunState::Preparing};
  std::atomic<std::int64_t> step{0};
  std::atomic<std::int64_t> totalSteps{0}; ///< 0: not known, the length is in hours
  std::atomic<double> loss{0};
  std::atomic<double> tokensPerSecond{0};
};

class RunLoop {
 public:
  RunLoop(FileSystem& files, const RunDescription& description, PreparedRun& run, CheckpointStore& checkpoints,
          const RunDirectory& directory, RunRequests& requests, RunReporter& reporter, RunGauge& gauge, Log& log);

  /// Trains to the end. The error of a run that failed; Interrupted (after a save, unless that was given up) when it
  /// was stopped.
  Status train();

  std::int64_t step() const { return m_run.state.step; }
  const Path& lastCheckpoint() const { return m_lastCheckpoint; }

 private:
  struct Global { ///< a global batch and where the data stood before it
    std::vector<MicroBatch> microBatches;
    DataCursor cursor;
    std::vector<double> passes; ///< over each source behind it, where they are drawn from by weight
  };
  Status trainToEnd();
  Result<Global> nextBatch();
  /// Notes how far the sources are, and tells when one begins again.
  void passed(const std::vector<double>& passes);
  /// Told while data is waited for; whether to go on waiting.
  bool waitForData(const DataProgress& now);
  /// Data is there: the state is what it was before the wait.
  void waitedForData();
  std::int64_t totalSteps() const;
  bool finished() const;
  /// The same; for a length in hours the guess that follows from the pace so far.
  std::int64_t expectedSteps(std::int64_t step) const;
  double learningRateOf(std::int64_t step) const;

  Status trainStep(const Global& current, const Global& next);
  /// Evaluation and samples where they are due and not done.
  Status lookAtStep();
  Status afterStep();
  Status evaluateNow();
  Status sampleNow();
  bool isBest() const { return m_run.state.bestValidationStep == m_run.state.step; }
  /// Whether a checkpoint holds the state as it is now.
  bool saved();
  Status save();
  /// What a resume needs beside a checkpoint, should somebody have removed it.
  Status restoreFolder();
  void warnOfLittleSpace();
  /// Unless it is saved; waits for room while the disk is full.
  Status saveNow();
  Status finish();
  void drawCharts();
  Status interrupted();
  Status waitWhilePaused();
  Status waitForSpace(const Error& problem, const std::function<Status()>& retry);

  void setState(RunState state, const std::string& reason = {});
  Status report(decltype(RunEvent::body) body);
  void alert(const std::string& kind, const std::string& message, const std::string& advice);
  /// Of the streams, since the beginning.
  struct Use {
    StreamUse compute, in;
    BusUse bus; ///< without updates that run on the device for the host
  };
  Use use() const;
  /// All that was read and written, by evaluations and checkpoints too: it wears the drives.
  LinkMetrics diskSinceLastStep();
  /// before: use() when the step began.
  StepMetrics metricsOf(const StepOutcome& outcome, double seconds, double learningRate, const Use& before);
  bool due(std::int64_t every) const { return every > 0 && m_run.state.step % every == 0; }

  FileSystem& m_files;
  const RunDescription& m_description;
  const Project& m_project;
  PreparedRun& m_run;
  CheckpointStore& m_checkpoints;
  const RunDirectory& m_directory;
  RunRequests& m_requests;
  RunReporter& m_reporter;
  RunGauge& m_gauge;
  Log& m_log;

  const std::int64_t m_tokensPerStep;
  DataCursor m_cursor;                     ///< where the next batch to be trained on begins
  std::optional<RunState> m_beforeWaiting; ///< while data is waited for
  std::chrono::steady_clock::time_point m_waitingSince;
  double m_dataSeconds = 0; ///< of waiting, not yet told by a step
  bool m_dataFailed = false;
  std::vector<double> m_passes; ///< of the last step
  StepClock m_clock;
  std::chrono::steady_clock::time_point m_lastSave;
  std::optional<TrainerState> m_saved; ///< what the last checkpoint holds
  Path m_lastCheckpoint;
  Bytes m_checkpointBytes = 0; ///< of the last one
  bool m_spaceIsLow = false;
  LossWatch m_lossWatch;
  // Updates go on when their step has ended, and count from one step's figures to the next's.
  double m_optimizerBefore = 0;
  BusUse m_updatesBefore;
  DiskUse m_diskBefore;
  std::optional<double> m_correction; ///< measured over predicted time of the steps so far
};

} // namespace millrace
