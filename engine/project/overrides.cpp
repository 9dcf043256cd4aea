#include "project/overrides.h"

#include "engine/project_fields.h"

#include <charconv>
#include <fmt/format.h>
#include <set>

namespace millrace {

namespace {

std::vector<std::string> splitKey(const std::string& key) {
  std::vector<std::string> parts(1);
  for (const char c : key) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

/// JSON if it is, else the text itself. A list or object that does not parse is a mistake, not a text.
Result<Json> parseValue(const std::string& text, const std::string& source) {
  auto value = parseJson(text, source);
  if (value) return value;
  if (!text.empty() && (text[0] == '{' || text[0] == '[' || text[0] == '"')) return value;
  return Json(text);
}

/// The element of a list that the part names, or nullptr.
Json* element(Json& list, const std::string& part) {
  std::size_t index = 0;
  const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), index);
  if (code != std::errc() || end != part.data() + part.size() || index >= list.size()) return nullptr;
  return &list[index];
}

/// Removes the keys of the file that the new key excludes, unless another override set them.
void removeExcluded(Json& object, const std::string& parent, const std::string& key,
                    const std::set<std::string>& overridden) {
  for (const std::string& other : excludedKeys(parent + "." + key))
    if (!overridden.count(other)) object.erase(other.substr(parent.size() + 1));
}

Status applyOne(Json& project, const std::string& override, std::set<std::string>& overridden) {
  const std::size_t equals = override.find('=');
  if (equals == std::string::npos || equals == 0)
    return badInput(fmt::format("--set {}: expected key=value, for example training.steps=200", override));
  const std::string key = override.substr(0, equals);
  MILLRACE_TRY(Json value, parseValue(override.substr(equals + 1), "--set " + key));

  const std::vector<std::string> parts = splitKey(key);
  Json* place = &project;
  std::string parent;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    if (part.empty()) return badInput(fmt::format("--set {}: the key has an empty part", override));
    if (place->is_array()) {
      Json* next = element(*place, part);
      if (!next)
        return badInput(fmt::format("--set {}: '{}' is no index of {}, which has {} elements counted from 0", override,
                                    part, parent, place->size()));
      place = next;
    } else {
      if (place->is_null()) *place = Json::object();
      if (!place->is_object())
        return badInput(fmt::format("--set {}: {} is {} in the project, not an object that could hold '{}'", override,
                                    parent.empty() ? "the file" : parent, place->type_name(), part));
      // On the way down too: setting model.config.x is setting model.config as far as model.folder is concerned.
      removeExcluded(*place, parent, part, overridden);
      overridden.insert(parent + "." + part);
      if (i + 1 == parts.size() && value.is_null()) {
        place->erase(part);
        return {};
      }
      place = &(*place)[part];
    }
    parent += (parent.empty() ? "" : ".") + part;
  }
  *place = std::move(value);
  return {};
}

} // namespace

Status applyOverrides(Json& project, const std::vector<std::string>& overrides) {
  std::set<std::string> overridden;
  for (const std::string& override : overrides) MILLRACE_CHECK(applyOne(project, override, overridden));
  return {};
}

} // namespace millrace
