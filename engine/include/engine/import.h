// Somebody else's model, looked at before anything is trained from it: what it is, whether its files are whole and its
// own, and how it would be trained. Nothing is written: training reads the folder itself.
#pragma once

#include "base/file.h"
#include "base/units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

/// What does not fit between a model's tensors and its config, all of it, each a phrase that begins with a tensor's
/// name.
struct ImportProblems {
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  std::vector<std::string> wrongShape;
  std::vector<std::string> notFloats;
  std::vector<std::string> twice;
  /// What else stands against training from the folder, a sentence each: no tokenizer, one of another model.
  std::vector<std::string> others;

  std::size_t count() const {
    return missing.size() + unexpected.size() + wrongShape.size() + notFloats.size() + twice.size() + others.size();
  }
};

struct ImportedModel {
  std::filesystem::path folder;
  std::string family; ///< model_type
  std::int64_t parameters = 0;
  std::int64_t layers = 0, hidden = 0, vocabulary = 0, maxPositions = 0;
  bool tied = false;
  std::int64_t files = 0;         ///< of weights
  Bytes bytes = 0;                ///< of tensors
  std::vector<std::string> types; ///< of the tensors: "BF16", "F32"
  std::int64_t tokens = 0;        ///< of the tokenizer; 0: none that can be used
  std::int64_t addedRows = 0;     ///< that the tables would grow by for tokens that were added to the tokenizer
  bool chatTemplate = false;
  std::vector<std::string> warnings; ///< what is accepted though something about it differs here
  ImportProblems problems;           ///< none: it can be trained from
};

/// folder: a Hugging Face model folder, or a checkpoint. tokenizer: in place of the folder's own. Reads headers, not
/// weights (but where tied tables are stored twice, or rows are to be added, the tables). Errors: BadInput naming what
/// the folder is instead and what to do, a key of the config that is not implemented, or what is damaged.
Result<ImportedModel> importModel(FileSystem& files, const std::filesystem::path& folder,
                                  const std::optional<std::filesystem::path>& tokenizer = std::nullopt);

} // namespace millrace
