// Writing one checkpoint folder: aside, file by file flushed, the manifest last, then renamed to its final name. At
// every moment the final name stands for a complete checkpoint or for none.
#pragma once

#include "base/file.h"
#include "checkpoint/trainer_state.h"
#include "checkpoint/training_state.h"

#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace millrace {

/// A small file of the model's folder that a checkpoint carries along.
struct CheckpointFile {
  std::string name; ///< without folder, and none of the checkpoint's own
  std::string text;
};

/// What goes into a checkpoint. Views and references must outlive the save.
struct CheckpointContents {
  const TrainingState& parameters;
  const TrainerState& trainer;
  std::string_view config;    ///< config.json, so that the folder works alone; empty: none
  std::string_view tokenizer; ///< tokenizer.json; empty: none
  std::span<const CheckpointFile> companions = {};
};

struct SaveOptions {
  Bytes shardBytes = 2 * GiB;
  /// Asked between pieces, on the saving thread; true abandons the save.
  std::function<bool()> abandoned;
  /// Told after each piece.
  std::function<void(Bytes done, Bytes total)> progress;
};

struct SavedCheckpoint {
  std::int64_t step = 0;
  Path path;
  Bytes bytes = 0;
  double seconds = 0;
};

/// "step-00001234".
std::string checkpointName(std::int64_t step);

/// Writes checkpoints/step-NNNNNNNN; a folder of that name is replaced when the new one is complete. Memory: one piece
/// of 4 MiB. After any failure nothing new stands under the final name and what was written aside is removed.
/// OutOfSpace says what is needed and what is free; Interrupted when abandoned.
Result<SavedCheckpoint> writeCheckpoint(FileSystem& files, const Path& checkpoints, const CheckpointContents& contents,
                                        const SaveOptions& options);

/// Undoes what a killed writer left beside the final names: removes folders under construction, puts back a checkpoint
/// that was about to be replaced. Only for the holder of the run's lock, with no save in progress.
Status removeLeftovers(FileSystem& files, const Path& checkpoints);

} // namespace millrace
