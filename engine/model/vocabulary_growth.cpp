#include "model/vocabulary_growth.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace millrace {

namespace {

std::optional<std::int64_t> idOf(const Json& json) {
  if (!json.is_number_integer()) return std::nullopt;
  const std::int64_t id =
      json.is_number_unsigned() && json.get<std::uint64_t>() > INT32_MAX ? -1 : json.get<std::int64_t>();
  return id < 0 || id > INT32_MAX ? std::nullopt : std::optional(id);
}

const Json* member(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto entry = object.find(key);
  return entry == object.end() ? nullptr : &*entry;
}

/// One more than the largest id of the tokenizer's own entries.
std::int64_t ownEntries(const Json& tokenizer) {
  const Json* model = member(tokenizer, "model");
  const Json* vocabulary = model ? member(*model, "vocab") : nullptr;
  if (!vocabulary) return 0;
  if (vocabulary->is_array()) return static_cast<std::int64_t>(vocabulary->size());
  std::int64_t entries = 0;
  if (vocabulary->is_object())
    for (const auto& [token, id] : vocabulary->items()) entries = std::max(entries, idOf(id).value_or(-1) + 1);
  return entries;
}

} // namespace

Result<VocabularyGrowth> vocabularyGrowth(const Json& tokenizer, std::int64_t vocabulary, const std::string& source) {
  VocabularyGrowth growth;
  growth.rows = vocabulary;
  const Json* added = member(tokenizer, "added_tokens");
  if (!added || !added->is_array()) return growth;
  std::map<std::int64_t, std::string> beyond; // the model's rows
  for (const Json& token : *added) {
    const Json* id = member(token, "id");
    const Json* content = member(token, "content");
    const auto number = id ? idOf(*id) : std::nullopt;
    if (number && *number >= vocabulary && content && content->is_string())
      beyond.emplace(*number, content->get<std::string>());
  }
  if (beyond.empty() || ownEntries(tokenizer) > vocabulary) return growth;
  for (const auto& [id, content] : beyond) {
    if (id != growth.rows)
      return badInput(
          fmt::format("{}: the added token '{}' has id {}, but the model has {} rows and no token has id {}: "
                      "give added tokens the ids that follow the model's rows",
                      source, content.substr(0, 100), id, vocabulary, growth.rows));
    ++growth.rows;
    growth.added.push_back(content);
  }
  return growth;
}

} // namespace millrace
