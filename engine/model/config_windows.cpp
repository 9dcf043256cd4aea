#include "model/config_windows.h"

#include "model/config_keys.h"

#include <fmt/format.h>

namespace millrace {

namespace {

void readLayerTypes(JsonReader& reader, const FamilyDefaults& defaults, std::int64_t window,
                    std::vector<LayerSpec>& layers) {
  if (!reader.has("layer_types")) return;
  const Json& types = reader.value("layer_types");
  if (!types.is_array() || types.size() != layers.size()) {
    reader.problem("layer_types", fmt::format("is not a list of {} entries, one per layer", layers.size()));
    return;
  }
  const bool free = defaults.windowed == WindowedLayers::Chosen || defaults.windowed == WindowedLayers::Alternating;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const std::string key = fmt::format("layer_types[{}]", i);
    const std::string type = types[i].is_string() ? types[i].get<std::string>() : types[i].dump();
    const bool sliding = type == "sliding_attention";
    if (!sliding && type != "full_attention" && type != "attention")
      reader.problem(key, fmt::format("is '{}', expected full_attention or sliding_attention", type));
    else if (sliding && window == 0)
      reader.problem(key, "is sliding_attention, but the config sets no window: use_sliding_window and "
                          "sliding_window must say so");
    else if (!free && sliding != (layers[i].window > 0))
      reader.problem(key, "differs from what this family does, which does not read layer_types");
    else
      layers[i].window = sliding ? window : 0;
  }
}

} // namespace

void readWindows(JsonReader& reader, const Json& config, const FamilyDefaults& defaults,
                 std::vector<LayerSpec>& layers) {
  const WindowedLayers windowed = defaults.windowed;
  const bool fixed = windowed == WindowedLayers::All || windowed == WindowedLayers::Alternating;
  std::int64_t window =
      reader.integer("sliding_window", isNull(config, "sliding_window") ? 0 : defaults.window, 1, maximumPositions);
  const bool use = reader.boolean("use_sliding_window", fixed && window > 0);
  const std::int64_t firstSliding =
      reader.integer("max_window_layers", windowed == WindowedLayers::Chosen ? 28 : 0, 0, INT32_MAX);
  if (windowed == WindowedLayers::None && (use || (window > 0 && !reader.has("use_sliding_window"))))
    reader.problem(use ? "use_sliding_window" : "sliding_window",
                   "asks for a sliding window, which this family does not have; mistral, qwen2 and qwen3 do");
  if (fixed && use != (window > 0))
    reader.problem("use_sliding_window",
                   fmt::format("is {}, but this family decides by sliding_window alone, which is {}", use,
                               window > 0 ? std::to_string(window) : "null"));
  if (fixed && window > 0 && firstSliding != 0)
    reader.problem("max_window_layers", windowed == WindowedLayers::All
                                            ? "is not read by this family, whose layers all have the window"
                                            : "is not read by this family, whose layer_types say it instead");
  if (windowed == WindowedLayers::Switched && use && firstSliding != 0)
    reader.problem("max_window_layers", "is not read by this family, whose layers all have the window");
  if (!use) window = 0;

  for (std::size_t i = 0; i < layers.size(); ++i) {
    const bool alternates = windowed != WindowedLayers::Alternating || i % 2 == 0;
    layers[i].window = static_cast<std::int64_t>(i) >= firstSliding && alternates ? window : 0;
  }
  readLayerTypes(reader, defaults, window, layers);
}

} // namespace millrace
