// Trained models for other programs: a Hugging Face folder from a checkpoint, a run, or another such folder.
#pragma once

#include "base/result.h"
#include "base/units.h"
#include "engine/model_choice.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

enum class ExportType {
  Fp32, ///< the master weights
  Bf16, ///< the weights that bf16 training computes with: the nearest, ties away from zero
  Fp16, ///< the nearest, ties to even; refused where a weight is beyond what fp16 holds
};

struct ExportOptions {
  ExportType type = ExportType::Fp32;
  Bytes maxShardBytes = 5'000'000'000; ///< of tensors in one file
  /// Told after each piece, on the calling thread; false gives up with Interrupted.
  std::function<bool(Bytes done, Bytes total)> progress;
};

struct ExportedModel {
  Path folder;
  std::int64_t parameters = 0;
  Bytes bytes = 0;                  ///< of all files
  std::vector<std::string> files;   ///< names in the folder
  std::optional<std::int64_t> step; ///< of the checkpoint that was exported
  std::vector<std::string> warnings;
};

/// Writes config.json, the tensors (sharded as needed, tied ones once), tokenizer.json and tokenizer_config.json where
/// the model has a tokenizer, and what else lies beside it for other programs. The folder appears complete or not at
/// all; it must not exist yet, or be empty. A few megabytes of memory, whatever the model's size. The run may be
/// training: a checkpoint that it removes meanwhile is exported whole, since its files stay open. Errors: BadInput,
/// OutOfSpace with what is needed, Interrupted.
Result<ExportedModel> exportModel(FileSystem& files, const ModelChoice& choice, const Path& folder,
                                  const ExportOptions& options = {});

} // namespace millrace
