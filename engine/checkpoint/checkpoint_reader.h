// Reading one checkpoint folder back: everything in it is checked against its manifest and against the model's blocks.
#pragma once

#include "base/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/trainer_state.h"
#include "checkpoint/training_state.h"

#include <vector>

namespace millrace {

/// Reads every file once: sizes, checksums, headers; the tensors of the three planes must be the same, and exactly
/// those of `blocks` when given. BadInput names the file.
Result<TrainerState> verifyCheckpoint(FileSystem& files, const Path& folder,
                                      const std::vector<BlockSpec>* blocks = nullptr);

/// The same, and fills the state on the way (one pass, one piece of 4 MiB in memory). After a failure the contents of
/// the state are unspecified: load another checkpoint or give up.
Result<TrainerState> loadCheckpoint(FileSystem& files, const Path& folder, TrainingState& state);

/// Whether a file of a checkpoint's folder is the one that was saved; BadInput names what differs.
Status verifyFile(FileSystem& files, const Path& folder, const ManifestFile& entry);
/// The same of a checkpoint's manifest and all of its files up to so many bytes.
Status verifySmallFiles(FileSystem& files, const Path& folder, Bytes most);

} // namespace millrace
