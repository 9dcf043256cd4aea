// The sliding windows of a config.json: sliding_window, use_sliding_window, max_window_layers, layer_types.
#pragma once

#include "base/json_reader.h"
#include "model/family_defaults.h"
#include "model/model_spec.h"

#include <vector>

namespace millrace {

/// Sets the window of every layer; there are as many as the model has. config is what the reader reads. Problems, such
/// as a window that the family does not have, are the reader's.
void readWindows(JsonReader& reader, const Json& config, const FamilyDefaults& defaults,
                 std::vector<LayerSpec>& layers);

} // namespace millrace
