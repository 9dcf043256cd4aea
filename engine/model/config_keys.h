// What config import and export share: the names of families and activations, and the lists of keys that change nothing
// here or that belong to mathematics that is not implemented. Pure functions.
#pragma once

#include "base/json_reader.h"
#include "model/model_spec.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// No config may ask for more positions: tables and plans stay within what integers hold.
constexpr std::int64_t maximumPositions = std::int64_t{1} << 28;

/// "llama", as in model_type.
std::string_view familyName(ModelFamily family);
std::optional<ModelFamily> familyNamed(std::string_view name);
/// "llama, qwen2, ...", for messages.
std::string supportedFamilies();

/// The activation behind a transformers name; several names may mean the same function.
std::optional<Activation> activationNamed(std::string_view name);
/// The name to write for it.
std::string_view activationName(Activation activation, ModelFamily family);
std::string supportedActivations();

/// Whether the key is there and says null, which some families take for another thing than its absence.
bool isNull(const Json& config, const char* key);

/// Marks the keys as known that change no number of a causal language model's training: generation settings, labels,
/// bookkeeping, implementation choices.
void ignoreHarmlessKeys(JsonReader& reader);

/// Keys of other architectures than the family's, and of features that are not implemented: null, absent and neutral
/// values are accepted, anything else is refused with the reason.
void refuseForeignKeys(JsonReader& reader, ModelFamily family);

/// Accepts the key when it is absent, null or one of the neutral values; else records the problem.
void refuseUnless(JsonReader& reader, const std::string& key, const std::vector<Json>& neutral, const std::string& why);

} // namespace millrace
