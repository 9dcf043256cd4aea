#include "text/post_processor.h"

#include "text/pattern.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

/// Only moves offsets, which nobody here uses.
class OffsetsOnly final : public PostProcessor {
 public:
  void apply(std::vector<std::int32_t>&, std::size_t) const override {}
};

/// A list of control tokens with the text's own ids among them.
class Template final : public PostProcessor {
 public:
  struct Part {
    bool isText = false;
    std::vector<std::int32_t> ids;
  };
  explicit Template(std::vector<Part> parts) : m_parts(std::move(parts)) {}

  void apply(std::vector<std::int32_t>& ids, std::size_t from) const override {
    const std::vector<std::int32_t> text(ids.begin() + static_cast<std::ptrdiff_t>(from), ids.end());
    ids.resize(from);
    for (const Part& part : m_parts) {
      const std::vector<std::int32_t>& added = part.isText ? text : part.ids;
      ids.insert(ids.end(), added.begin(), added.end());
    }
  }
  std::int32_t largestId() const override {
    std::int32_t largest = -1;
    for (const Part& part : m_parts)
      for (const std::int32_t id : part.ids) largest = std::max(largest, id);
    return largest;
  }

 private:
  std::vector<Part> m_parts;
};

class PostProcessorSequence final : public PostProcessor {
 public:
  explicit PostProcessorSequence(std::vector<std::unique_ptr<PostProcessor>> parts) : m_parts(std::move(parts)) {}
  void apply(std::vector<std::int32_t>& ids, std::size_t from) const override {
    for (const auto& part : m_parts) part->apply(ids, from);
  }
  std::int32_t largestId() const override {
    std::int32_t largest = -1;
    for (const auto& part : m_parts) largest = std::max(largest, part->largestId());
    return largest;
  }

 private:
  std::vector<std::unique_ptr<PostProcessor>> m_parts;
};

Result<std::int32_t> readId(const Json& value, const std::string& where) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > INT32_MAX)
    return badInput(fmt::format("{}: expected a token id", where));
  return value.get<std::int32_t>();
}

Result<std::unique_ptr<PostProcessor>> makeTemplate(JsonReader& reader, const std::string& where) {
  reader.ignore("pair");
  const Json& single = reader.value("single");
  const Json& special = reader.object("special_tokens");
  if (!single.is_array()) return badInput(fmt::format("{}.single: expected a list", where));
  std::vector<Template::Part> parts;
  for (std::size_t i = 0; i < single.size(); ++i) {
    const std::string here = fmt::format("{}.single[{}]", where, i);
    const Json& piece = single[i];
    if (!piece.is_object() || piece.size() != 1 || !piece.begin().value().is_object() ||
        !piece.begin().value().contains("id") || !piece.begin().value()["id"].is_string())
      return badInput(fmt::format("{}: expected {{\"SpecialToken\": {{\"id\": ...}}}} or {{\"Sequence\": ...}}", here));
    const std::string id = piece.begin().value()["id"].get<std::string>();
    if (piece.begin().key() == "Sequence") {
      if (id != "A") return badInput(fmt::format("{}: the sequence is '{}', expected 'A'", here, id));
      parts.push_back({true, {}});
    } else if (piece.begin().key() == "SpecialToken") {
      const auto token = special.find(id);
      if (token == special.end() || !token->is_object() || !token->contains("ids") || !(*token)["ids"].is_array())
        return badInput(fmt::format("{}: '{}' has no ids in {}.special_tokens", here, id, where));
      Template::Part part;
      for (const Json& value : (*token)["ids"]) {
        MILLRACE_TRY(const std::int32_t number, readId(value, here));
        part.ids.push_back(number);
      }
      parts.push_back(std::move(part));
    } else {
      return badInput(
          fmt::format("{}: '{}' is not supported; supported are SpecialToken, Sequence", here, piece.begin().key()));
    }
  }
  return std::make_unique<Template>(std::move(parts));
}

/// One token before the text and one behind it, each given as [text, id].
Result<std::unique_ptr<PostProcessor>> makeBertLike(JsonReader& reader, const std::string& where) {
  std::vector<Template::Part> parts(3);
  parts[1].isText = true;
  for (const auto& [key, part] : {std::pair{"cls", &parts[0]}, std::pair{"sep", &parts[2]}}) {
    const Json& value = reader.value(key);
    const std::string here = fmt::format("{}.{}", where, key);
    if (!value.is_array() || value.size() != 2) return badInput(fmt::format("{}: expected [text, id]", here));
    MILLRACE_TRY(const std::int32_t id, readId(value[1], here));
    part->ids = {id};
  }
  reader.ignore("trim_offsets");
  reader.ignore("add_prefix_space");
  return std::make_unique<Template>(std::move(parts));
}

} // namespace

Result<std::unique_ptr<PostProcessor>> makePostProcessor(const Json& description, const std::string& where) {
  if (description.is_null()) return nullptr;
  MILLRACE_TRY(const std::string type, componentType(description, where));
  JsonReader reader(description, where, "");
  reader.ignore("type");
  std::unique_ptr<PostProcessor> made;
  if (type == "ByteLevel") {
    for (const char* key : {"add_prefix_space", "trim_offsets", "use_regex"}) reader.ignore(key);
    made = std::make_unique<OffsetsOnly>();
  } else if (type == "TemplateProcessing") {
    MILLRACE_TRY(made, makeTemplate(reader, where));
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    MILLRACE_TRY(made, makeBertLike(reader, where));
  } else if (type == "Sequence") {
    std::vector<std::unique_ptr<PostProcessor>> parts;
    const Json& list = reader.value("processors");
    if (!list.is_array()) return badInput(fmt::format("{}.processors: expected a list", where));
    for (std::size_t i = 0; i < list.size(); ++i) {
      MILLRACE_TRY(auto part, makePostProcessor(list[i], fmt::format("{}.processors[{}]", where, i)));
      if (part) parts.push_back(std::move(part));
    }
    made = std::make_unique<PostProcessorSequence>(std::move(parts));
  } else {
    return unsupportedComponent(where, description,
                                {"ByteLevel", "TemplateProcessing", "BertProcessing", "RobertaProcessing", "Sequence"});
  }
  MILLRACE_CHECK(reader.finish());
  return made;
}

} // namespace millrace
