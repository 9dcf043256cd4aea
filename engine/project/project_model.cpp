#include "project/project_model.h"

#include "model/config_import.h"

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
  if (const auto* training = std::get_if<TokenizerTraining>(&project.tokenizer);
      training && training->vocabulary > spec.vocabulary)
    return badInput(
        fmt::format("{}: tokenizer.train.vocabulary is {}, but the model's vocab_size is {}: the model needs "
                    "at least as many entries as the tokenizer",
                    source, training->vocabulary, spec.vocabulary),
        "tokenizer.train.vocabulary");
  if (project.training.context > spec.maxPositions)
    return badInput(fmt::format("{}: training.context is {}, but the model was made for {} positions "
                                "(max_position_embeddings): use at most that, or raise it in the model's config",
                                source, project.training.context, spec.maxPositions),
                    "training.context");
  return spec;
}

} // namespace millrace
