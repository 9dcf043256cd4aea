// Run: a training run as its owner sees it: started or resumed here, carried out on a thread of its own, steered and
// listened to from any thread. The workbench and the headless program hold the same object.
#pragma once

#include "base/file.h"
#include "engine/project.h"
#include "engine/run_event.h"

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace millrace {

/// A checkpoint of another run that a run begins from, with its weights, moments, step and place in the data.
struct BranchPoint {
  std::filesystem::path run;
  std::int64_t step = 0;

  bool operator==(const BranchPoint&) const = default;
};

struct RunOptions {
  std::filesystem::path directory;                  ///< of the run
  bool replaceExisting = false;                     ///< a run that stands there is removed first
  std::optional<BranchPoint> branch = std::nullopt; ///< nothing: it begins as its project says
  /// Called on the run's threads once per burst of events; should only wake whoever calls takeEvents().
  std::function<void()> wake;
};

/// How a run ended.
struct RunOutcomeReport {
  RunState state = RunState::Failed; ///< Finished, Failed or Interrupted
  std::optional<Error> error;        ///< with Failed
  std::int64_t step = 0;
  std::filesystem::path checkpoint; ///< the last one that was saved; empty: none
};

/// Thread-safe. The destructor stops the run (saving it) and waits.
class Run {
 public:
  /// Checks and reads everything that may be wrong with the input before it returns: project, model, tokenizer. What
  /// takes long (training the tokenizer, tokenising, allocating) happens on the run's thread, in the state Preparing.
  /// A branch takes model, tokenizer and the history of its steps from the other run; the errors of checkBranch().
  static Result<std::unique_ptr<Run>> start(FileSystem& files, const Project& project, const RunOptions& options);
  /// Goes on from the newest good checkpoint of a run directory, with the project that its run.json holds. Refused with
  /// the reason: a run that is live, has finished, or whose data or tokenizer changed since.
  static Result<std::unique_ptr<Run>> resume(FileSystem& files, const RunOptions& options);
  ~Run();

  /// All of these ask and return; events tell what came of it.
  void pause();
  void resumeTraining();
  void checkpointNow();
  /// Stops at a block boundary, applies pending updates, saves. Asked a second time while saving: gives the save up,
  /// the checkpoint before stands.
  void stop();

  /// What happened since the last call, oldest first. One consumer.
  std::vector<RunEvent> takeEvents();
  RunState state() const;
  /// Blocks until the run has ended.
  RunOutcomeReport wait();

 private:
  class Implementation;
  explicit Run(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> m_implementation;
};

} // namespace millrace
