#include "project/project_model.h"

#include "model/config_import.h"
#include "model/vocabulary_growth.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

Result<ModelSpec> readSpec(FileSystem& files, const ModelSource& model, const std::string& source,
                           std::vector<std::string>* warnings) {
  if (const auto* folder = std::get_if<ModelFolder>(&model)) return readModelConfig(files, folder->folder, warnings);
  const auto& config = std::get<ModelConfig>(model);
  if (config.text.empty()) {
    MILLRACE_TRY(const Json json, readJsonFile(files, config.file));
    return modelSpecFromConfig(json, config.file.string(), warnings);
  }
  const std::string place = source + ": model.config";
  MILLRACE_TRY(const Json json, parseJson(config.text, place));
  return modelSpecFromConfig(json, place, warnings);
}

/// The project's key for a key of the model's config, which may lie in a file of its own.
std::string keyOf(const ModelSource& model, const std::string& configKey) {
  if (std::holds_alternative<ModelFolder>(model)) return "model.folder";
  const bool inside = !std::get<ModelConfig>(model).text.empty() && !configKey.empty();
  return inside ? "model.config." + configKey : "model.config";
}

constexpr std::size_t namedTokens = 5;

/// Rows for the tokens that were added to the tokenizer of a trained model.
Status growVocabulary(FileSystem& files, const Project& project, ModelSpec& spec, std::vector<std::string>* warnings) {
  const auto* folder = std::get_if<ModelFolder>(&project.model);
  if (!folder) return {};
  Path path = folder->folder / "tokenizer.json";
  if (std::holds_alternative<TokenizerTraining>(project.tokenizer) && files.exists(path))
    return badInput(
        fmt::format("{} has a tokenizer of its own ({}), and to one that is newly trained every token would "
                    "mean something else: remove tokenizer.train",
                    folder->folder.string(), path.filename().string()),
        "tokenizer.train");
  if (const auto* file = std::get_if<TokenizerFile>(&project.tokenizer)) path = file->file;
  // Whoever needs the tokenizer says that it is missing, and why a trained one cannot go with this model.
  if (std::holds_alternative<TokenizerTraining>(project.tokenizer) || !files.exists(path)) return {};
  MILLRACE_TRY(const Json tokenizer, readJsonFile(files, path, maximumTokenizerFile));
  MILLRACE_TRY(const VocabularyGrowth growth, vocabularyGrowth(tokenizer, spec.vocabulary, path.string()));
  if (growth.added.empty()) return {};
  if (warnings) {
    const std::size_t shown = std::min(growth.added.size(), namedTokens);
    warnings->push_back(fmt::format(
        "{}: {} added tokens have no rows in the model ({}{}): its embedding{} from {} to {} rows; each new row starts "
        "as the mean of all others",
        path.string(), growth.added.size(),
        fmt::join(growth.added.begin(), growth.added.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
        shown < growth.added.size() ? ", ..." : "", spec.tiedEmbeddings ? " grows" : " and its head grow",
        spec.vocabulary, growth.rows));
  }
  spec.vocabulary = growth.rows;
  return {};
}

} // namespace

Result<ModelSpec> readProjectModel(FileSystem& files, const Project& project, const std::string& source,
                                   std::vector<std::string>* warnings) {
  Result<ModelSpec> read = readSpec(files, project.model, source, warnings);
  if (!read) {
    Error error = std::move(read.error());
    error.key = keyOf(project.model, error.key);
    return tl::unexpected<Error>(std::move(error));
  }
  ModelSpec spec = std::move(*read);
  MILLRACE_CHECK(growVocabulary(files, project, spec, warnings));
  if (const auto* training = std::get_if<TokenizerTraining>(&project.tokenizer);
      training && training->vocabulary > spec.vocabulary)
    return badInput(
        fmt::format("{}: tokenizer.train.vocabulary is {}, but the model's vocab_size is {}: the model needs "
                    "at least as many entries as the tokenizer",
                    source, training->vocabulary, spec.vocabulary),
        "tokenizer.train.vocabulary");
  else if (training && warnings && spec.vocabulary > 2 * training->vocabulary)
    warnings->push_back(fmt::format("the model has {} rows for {} entries of the tokenizer that is trained; the others "
                                    "are never used: set vocab_size in the model's config",
                                    formatCount(spec.vocabulary), formatCount(training->vocabulary)));
  if (project.training.context > spec.maxPositions)
    return badInput(fmt::format("{}: training.context is {}, but the model was made for {} positions "
                                "(max_position_embeddings): use at most that, or raise it in the model's config",
                                source, project.training.context, spec.maxPositions),
                    "training.context");
  return spec;
}

} // namespace millrace
