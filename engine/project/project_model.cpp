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

} // namespace

Result<ModelSpec> readProjectModel(FileSystem& files, const Project& project, const std::string& source,
                                   std::vector<std::string>* warnings) {
  MILLRACE_TRY(ModelSpec spec, readSpec(files, project.model, source, warnings));
  if (const auto* training = std::get_if<TokenizerTraining>(&project.tokenizer);
      training && training->vocabulary > spec.vocabulary)
    return badInput(
        fmt::format("{}: tokenizer.train.vocabulary is {}, but the model's vocab_size is {}: the model needs "
                    "at least as many entries as the tokenizer",
                    source, training->vocabulary, spec.vocabulary));
  if (project.training.context > spec.maxPositions)
    return badInput(fmt::format("{}: training.context is {}, but the model was made for {} positions "
                                "(max_position_embeddings): use at most that, or raise it in the model's config",
                                source, project.training.context, spec.maxPositions));
  return spec;
}

} // namespace millrace
