// Run directories as seen from outside: listed, asked, steered, followed, checked. None of this takes part in training;
// all of it works on runs of other processes, live or not.
#pragma once

#include "base/file.h"
#include "base/json_reader.h"
#include "engine/project.h"
#include "engine/run_event.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

enum class RunOutcome {
  Live,        ///< a process works on it
  Finished,    ///< trained to its end
  Interrupted, ///< stopped or killed before its end; can be resumed
  Failed,
};

std::string_view toString(RunOutcome outcome);

/// How a run stands.
struct RunInfo {
  std::string name;
  Path path;
  RunOutcome outcome = RunOutcome::Interrupted;
  std::string reason;                        ///< why interrupted or failed
  std::optional<RunState> state;             ///< the last that was reported
  std::string owner;                         ///< who works or worked on it last, for people; empty: not known
  std::optional<StepMetrics> last;           ///< nothing before the first step
  double changed = 0;                        ///< last sign of life, seconds since 1970; 0: none
  std::optional<Path> checkpoint;            ///< the newest, not verified
  std::vector<std::int64_t> checkpointSteps; ///< of all of them, oldest first
  std::vector<Path> charts;                  ///< drawings of the run, by name
  std::optional<Sample> lastSample;          ///< the newest
};

/// BadInput when there is no run.
Result<RunInfo> runInfo(FileSystem& files, const Path& run);

/// The runs directly inside a folder, the newest sign of life first; without checkpoints, charts and sample. A missing
/// folder has none.
Result<std::vector<RunInfo>> runsIn(FileSystem& files, const Path& folder);

/// Where runs go that were given no folder: $MILLRACE_RUNS, else millrace/runs in $XDG_DATA_HOME, else
/// ~/.local/share/millrace/runs. BadInput when none of these can be told.
Result<Path> runsFolder();

/// A directory in the folder for a new run of the project that begins at this time (seconds since 1970): its name, the
/// time in UTC, and a number where that is taken.
Path newRunDirectory(FileSystem& files, const Path& folder, const Project& project, double now);

/// What `--resume-or-start` does with a run directory.
struct StartDecision {
  enum class Action {
    Start,    ///< no run is there
    Restart,  ///< it ended before its first checkpoint: nothing is lost by beginning anew, with the settings of now
    Resume,   ///< it was interrupted, or failed
    Finished, ///< nothing is left to do
  };
  Action action = Action::Start;
  /// What the project sets now is not what the run was started with (which is what holds); only for Resume and
  /// Finished.
  bool settingsDiffer = false;
};

/// BadInput when a process works on the run now.
Result<StartDecision> decideStart(FileSystem& files, const Path& run, const Project& project);

enum class RunRequest { Describe, Pause, Resume, Checkpoint, Stop };

/// Asks the process that works on the run, over its control socket; the reply to Describe is an object, to the others
/// null. It answers that it has understood, not that all is done. BadInput when no process works on the run, saying how
/// it ended and what to do.
Result<Json> requestOfRun(FileSystem& files, const Path& run, RunRequest request);

struct WatchOptions {
  std::int64_t fromStep = 0; ///< the first step that is told; 0: everything
  /// Where the run is killed while it is watched: how long to wait for it to be resumed.
  double patienceSeconds = 20;
  std::function<void(const std::string& reason)> onKilled; ///< called when this wait begins
};

/// Follows a run: what it has done, then what it does, until it ends.
class RunWatch {
 public:
  static Result<std::unique_ptr<RunWatch>> open(FileSystem& files, const Path& run, WatchOptions options = {});
  ~RunWatch();

  /// The next event, waiting for it; nothing when the run has ended, or after stop(). One thread. Steps that a killed
  /// run repeats come again.
  Result<std::optional<RunEvent>> next();
  /// Any thread.
  void stop();

 private:
  class Implementation;
  explicit RunWatch(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> m_implementation;
};

struct CheckpointCheck {
  Path path;
  std::int64_t step = 0;
  Bytes bytes = 0;
  std::optional<Error> error; ///< what is wrong with it
};

/// Reads every byte of a checkpoint folder, or of all those of a run directory or its checkpoints folder, oldest first.
/// `checked` is called after each. BadInput when there is no checkpoint.
Result<std::vector<CheckpointCheck>> checkCheckpoints(FileSystem& files, const Path& path,
                                                      const std::function<void(const CheckpointCheck&)>& checked = {});

} // namespace millrace
