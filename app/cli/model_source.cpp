#include "model_source.h"

#include "engine/model_presets.h"

namespace millrace::cli {

Result<ModelSource> modelSource(FileSystem& files, const std::string& model) {
  if (files.isDirectory(model)) return ModelSource(ModelFolder{std::filesystem::absolute(model)});
  MILLRACE_TRY(ModelConfig config, presetConfig(model));
  return ModelSource(std::move(config));
}

std::string presetNames() {
  std::string names;
  for (const ModelPreset& preset : modelPresets()) names += (names.empty() ? "" : ", ") + preset.name;
  return names;
}

} // namespace millrace::cli
