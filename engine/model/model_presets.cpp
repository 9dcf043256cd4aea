#include "engine/model_presets.h"

#include "base/json_reader.h"
#include "embedded/modelPreset.h"
#include "model/blocks.h"
#include "model/config_import.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

std::string lowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

/// The embedded files are checked by the tests: they parse, and the importer takes them.
std::string describe(const EmbeddedFile& file) {
  const Json config = Json::parse(file.text);
  const ModelSpec spec = valueOrThrow(modelSpecFromConfig(config, std::string(file.name)));
  return fmt::format("{}: {:.4g} billion parameters, {} layers of {}", config.at("_name_or_path").get<std::string>(),
                     static_cast<double>(parameterCount(spec)) / 1e9, spec.layers.size(), formatCount(spec.hidden));
}

} // namespace

std::vector<ModelPreset> modelPresets() {
  std::vector<ModelPreset> presets;
  for (const EmbeddedFile& file : modelPresetFiles()) presets.push_back({std::string(file.name), describe(file)});
  return presets;
}

Result<ModelConfig> presetConfig(std::string_view name) {
  const std::string wanted = lowerCase(name);
  std::vector<std::string> names;
  for (const EmbeddedFile& file : modelPresetFiles()) {
    if (file.name == wanted) return ModelConfig{{}, std::string(file.text)};
    names.emplace_back(file.name);
  }
  std::string message = fmt::format("there is no model preset '{}'", name);
  if (const auto nearest = nearestWord(wanted, names)) message += fmt::format("; did you mean '{}'?", *nearest);
  return badInput(
      fmt::format("{} Presets are: {}", message.ends_with('?') ? message : message + ".", fmt::join(names, ", ")));
}

} // namespace millrace
