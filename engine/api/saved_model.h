// SavedModel: a model for use without training, wherever it comes from: a checkpoint, a run, or a Hugging Face folder.
// Sizes and checksums of what is read from a checkpoint are verified at open.
#pragma once

#include "checkpoint/checkpoint_writer.h"
#include "engine/model_choice.h"
#include "storage/model_reader.h"
#include "text/tokenizer.h"
#include "train/load_weights.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

class SavedModel {
 public:
  /// Errors: BadInput with what was expected at the path and what is there instead, or what is damaged.
  static Result<SavedModel> open(FileSystem& files, const ModelChoice& choice);

  const Path& folder() const { return m_folder; } ///< that holds the weights
  const ModelSpec& spec() const { return m_spec; }
  /// Text of tokenizer.json, where there is one.
  const std::optional<std::string>& tokenizerText() const { return m_tokenizer; }
  /// BadInput when there is none or it is not usable. It may have ids that the model has no rows for.
  Result<Tokenizer> tokenizer() const;
  /// What else lies beside it for other programs.
  const std::vector<CheckpointFile>& companions() const { return m_companions; }
  /// That generation_config.json names as ends of a text; all of them have rows in the model.
  const std::vector<std::int32_t>& endTokens() const { return m_endTokens; }
  /// Of a checkpoint.
  std::optional<std::int64_t> step() const { return m_step; }
  /// Damaged checkpoints that were passed over, and config keys that are accepted though something differs here.
  const std::vector<std::string>& warnings() const { return m_warnings; }

  const ModelReader& weights() const { return *m_weights; }
  /// Refers to this object.
  BlockValues blockValues() const;

 private:
  SavedModel() = default;
  Status loadOfRun(FileSystem& files, const ModelChoice& choice);
  Status load(FileSystem& files, const Path& folder);
  void readGenerationSettings();

  Path m_folder;
  ModelSpec m_spec;
  std::optional<std::string> m_tokenizer;
  std::string m_tokenizerAdvice; ///< where there is none
  std::vector<std::int32_t> m_endTokens;
  std::vector<CheckpointFile> m_companions;
  std::optional<std::int64_t> m_step;
  std::vector<std::string> m_warnings;
  std::shared_ptr<const ModelReader> m_weights;
};

} // namespace millrace
