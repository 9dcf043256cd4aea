#include "project/project_model.h"

#include "model/config_import.h"

#include <fmt/format.h>

namespace millrace {

namespace {

Result<ModelSpec> readSpec(FileSystem& files, const ModelSource& model, const std::string& source) {
  if (const auto* folder = std::get_if<ModelFolder>(&model)) return readModelConfig(files, folder->folder);
  const auto& config = std::get<ModelConfig>(model);
  if (config.text.empty()) {
    MILLRACE_TRY(const Json json, readJsonFile(files, config.file));
    return modelSpecFromConfig(json, config.file.string());
  }
  const std::string place = source + ": model.config";
  MILLRACE_TRY(const Json json, parseJson(config.text, place));
  return modelSpecFromConfig(json, place);
}

} // namespace

Result<ModelSpec> readProjectModel(FileSystem& files, const Project& project, const std::string& source) {
  MILLRACE_TRY(ModelSpec spec, readSpec(files, project.model, source));
  if (const auto* training = std::get_if<TokenizerTraining>(&project.tokenizer);
      training && training->vocabulary > spec.vocabulary)
    return badInput(
        fmt::format("{}: tokenizer.train.vocabulary is {}, but the model's vocab_size is {}: the model needs "
                    "at least as many entries as the tokenizer",
                    source, training->vocabulary, spec.vocabulary));
  // Rotary positions can be computed past what a model was trained for; learned ones end.
  if (spec.learnedPositions && project.training.context > spec.maxPositions)
    return badInput(fmt::format("{}: training.context is {}, but the model has {} learned positions: use at most that",
                                source, project.training.context, spec.maxPositions));
  return spec;
}

} // namespace millrace
