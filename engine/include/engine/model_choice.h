// Which model a program is to work with, as a person names it.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <optional>

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
  std::optional<std::int64_t> step = std::nullopt; ///< of a run: its checkpoint of this step, and no other
};

} // namespace millrace
