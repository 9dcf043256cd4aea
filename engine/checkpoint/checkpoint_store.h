// The checkpoints folder of a run: saves, finds the newest good checkpoint, keeps the last few and the best.
#pragma once

#include "base/log.h"
#include "checkpoint/checkpoint_writer.h"

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace millrace {

struct CheckpointEntry {
  std::int64_t step = 0;
  Path path;
};

struct BestCheckpoint {
  std::int64_t step = 0;
  double validationLoss = 0;
};

/// What the files of a checkpoint's folder take, manifest or not.
Result<Bytes> bytesOfCheckpoint(FileSystem& files, const Path& folder);

/// Reading functions may be used on any run; save, markBest, rotate, remove and recover only by the holder of the run's
/// lock. One thread at a time.
class CheckpointStore {
 public:
  CheckpointStore(FileSystem& files, Path folder, Log& log);

  const Path& folder() const { return m_folder; }

  /// Once before the first save of a process: clears away what a killed one left. See removeLeftovers().
  Status recover();

  /// Complete or damaged, oldest first; folders under construction are not listed. A missing folder is an empty list.
  Result<std::vector<CheckpointEntry>> list() const;

  Result<SavedCheckpoint> save(const CheckpointContents& contents, const SaveOptions& options = {});

  /// The newest checkpoint that verifies; a warning for each newer one that does not. Reads whole checkpoints.
  Result<CheckpointEntry> latestGood(const std::vector<BlockSpec>* blocks = nullptr);

  /// Loads the newest good one in one pass, falling back over damaged ones with a warning each. BadInput when none is
  /// good: the contents of the state are unspecified then.
  Result<TrainerState> loadLatest(TrainingState& state);

  /// Loads exactly this one; the error of a damaged one says which other is good.
  Result<TrainerState> load(std::int64_t step, TrainingState& state);
  /// Checks exactly this one, with the same error.
  Result<TrainerState> verify(std::int64_t step, const std::vector<BlockSpec>* blocks = nullptr);

  /// Remembers which checkpoint has the best validation loss so far (best.json). It must have been saved.
  Status markBest(std::int64_t step, double validationLoss);
  /// Nothing when none is marked or it is gone.
  std::optional<BestCheckpoint> best() const;

  /// Removes all but the newest `keep` (at least 1) and the best. Never removes the only good one: unless this process
  /// knows one of those that stay to be good, they are verified, and if none is, the newest good one stays as well.
  Status rotate(int keep);

  /// Removes one, complete or damaged; no error when it is not there.
  Status remove(std::int64_t step);

 private:
  Path pathOf(std::int64_t step) const { return m_folder / checkpointName(step); }
  Error withAdvice(Error error, std::int64_t step, const std::vector<BlockSpec>* blocks);
  bool isGood(std::int64_t step);

  FileSystem& m_files;
  Path m_folder;
  Log& m_log;
  std::set<std::int64_t> m_knownGood; ///< saved or verified by this process
};

} // namespace millrace
