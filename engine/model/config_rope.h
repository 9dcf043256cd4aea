// The rotary part of a config.json: rope_theta, rope_scaling, rope_parameters and their older and nested spellings.
#pragma once

#include "base/json_reader.h"
#include "model/model_spec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

/// What the rest of the config says that the rotary part depends on.
struct RopeContext {
  std::string source;            ///< the file, for messages
  std::int64_t maxPositions = 0; ///< max_position_embeddings
  std::int64_t headDim = 0;
  double theta = 10000; ///< where the config has none
  bool phi3 = false;    ///< a part of each head may rotate, and longrope is the only scaling; else whole heads do
};

/// Reads the rotary keys of the config (marking them as known). Warnings may be null.
Result<RopeSpec> ropeFromConfig(JsonReader& config, const RopeContext& context, std::vector<std::string>* warnings);

/// Adds rope_theta and, for scaled kinds, rope_scaling.
void addRopeToConfig(Json& config, const RopeSpec& rope);

} // namespace millrace
