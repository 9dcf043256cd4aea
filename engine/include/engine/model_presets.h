// Models to begin with: published shapes by name, and a sensible shape for any number of parameters. Each is the
// config.json that a project may hold; training starts from random weights. Pure functions.
#pragma once

#include "base/result.h"
#include "engine/project.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

struct ModelPreset {
  std::string name;        ///< "llama-3-8b"
  std::string description; ///< whose shape it is, parameters, layers, width: one line
};

/// By family and size.
std::vector<ModelPreset> modelPresets();

/// The preset's config as text; letter case does not matter. BadInput for a name that is not known, with the nearest
/// one and the list.
Result<ModelConfig> presetConfig(std::string_view name);

constexpr double leastModelSize = 1e6;
constexpr double greatestModelSize = 1e13;

/// A Llama-shaped config whose parameters (tied ones once) are within 1% of the number, below 100 million within 2%;
/// it is as deep and wide as models of that size are. BadInput outside of the sizes above.
Result<ModelConfig> modelOfSize(double parameters);

} // namespace millrace
