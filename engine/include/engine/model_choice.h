// Which model a program is to work with, as a person names it.
#pragma once

#include "base/file.h"

namespace millrace {

/// Of a run's checkpoints.
enum class CheckpointChoice {
  Latest, ///< the newest that is not damaged
  Best,   ///< the one with the lowest validation loss
};

struct ModelChoice {
  /// A checkpoint folder, a run directory, or a Hugging Face model folder.
  Path path;
  CheckpointChoice checkpoint = CheckpointChoice::Latest;
};

} // namespace millrace
