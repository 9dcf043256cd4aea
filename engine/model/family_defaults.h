// What a config.json of each family means by a key that it does not have: the defaults of transformers. Pure data.
#pragma once

#include "model/model_spec.h"

#include <cstdint>

namespace millrace {

/// Which layers may have the sliding window.
enum class WindowedLayers {
  None,
  All,
  Chosen,      ///< by max_window_layers or layer_types, where use_sliding_window says so
  Alternating, ///< every other one, or by layer_types
  Switched,    ///< all, where use_sliding_window says so
};

struct FamilyDefaults {
  std::int64_t vocabulary = 0, hidden = 0, inner = 0, layers = 0, heads = 0;
  std::int64_t kvHeads = 0; ///< 0: as many as heads
  std::int64_t headDim = 0; ///< 0: hidden / heads
  std::int64_t positions = 0;
  double epsilon = 0;
  double theta = 10000; ///< of rotary positions
  const char* activationKey = "hidden_act";
  const char* activation = "silu";
  bool tied = false;
  WindowedLayers windowed = WindowedLayers::None;
  std::int64_t window = 0; ///< tokens; 0: no limit
  std::int64_t experts = 0, chosenExperts = 0;
  std::int64_t bos = -1, eos = -1, pad = -1; ///< tokens; -1: none
};

const FamilyDefaults& familyDefaults(ModelFamily family);

} // namespace millrace
