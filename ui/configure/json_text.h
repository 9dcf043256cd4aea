// Edits to the text of a JSON object that leave every other character as it was: what a person wrote, its order, its
// line breaks and its way of writing numbers stay. Pure functions; any thread.
#pragma once

#include "engine/runs.h" // Json, parseJson

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::ui {

/// Bytes of a text, the end excluded.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const TextSpan&) const = default;
};

/// Where the value of a dotted key is; steps into lists are indices. text: a JSON object that parses. Nothing when the
/// key is not there.
std::optional<TextSpan> spanOfValue(std::string_view text, std::string_view key);

/// The text with the value in place. A new key goes behind the last one of its object; objects on the way are made, and
/// take the place of values that are none. replaced: keys of the same object that the new one takes the place of, the
/// first at its very place. text: a JSON object that parses.
std::string withValue(std::string_view text, std::string_view key, const Json& value,
                      const std::vector<std::string>& replaced = {});

/// The text without the key, and without objects that it leaves empty.
std::string withoutKey(std::string_view text, std::string_view key);

/// The value of a dotted key, or nullptr. Steps into lists are indices.
const Json* valueAt(const Json& json, std::string_view key);

} // namespace millrace::ui
