#include "data/conversation.h"

#include <fmt/format.h>
#include <utility>

namespace millrace {

namespace {

constexpr std::pair<const char*, const char*> roles[] = {
    {"system", "system"}, {"user", "user"},       {"human", "user"}, {"assistant", "assistant"},
    {"gpt", "assistant"}, {"model", "assistant"}, {"tool", "tool"},
};

const Json& fieldOf(const Json& object, const char* name) {
  static const Json null; // immutable
  const auto found = object.find(name);
  return found == object.end() ? null : *found;
}

/// A text; "" where it is missing or null and may be.
Result<std::string> textOf(const Json& row, const char* name, bool required) {
  const Json& value = fieldOf(row, name);
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null() && !required) return std::string();
  return badInput(value.is_null() ? fmt::format("there is no field '{}'", name)
                                  : fmt::format("the field '{}' is {}, expected a string", name, value.type_name()));
}

void say(Conversation& conversation, const char* role, std::string content) {
  conversation.variables["messages"].push_back({{"role", role}, {"content", std::move(content)}});
  conversation.learnable.push_back(true);
}

Result<Conversation> readAlpaca(const Json& row) {
  Conversation conversation;
  conversation.variables["messages"] = Json::array();
  MILLRACE_TRY(std::string system, textOf(row, "system", false));
  MILLRACE_TRY(std::string instruction, textOf(row, "instruction", true));
  MILLRACE_TRY(const std::string input, textOf(row, "input", false));
  MILLRACE_TRY(std::string output, textOf(row, "output", true));
  if (!system.empty()) say(conversation, "system", std::move(system));
  const Json& history = fieldOf(row, "history");
  if (!history.is_null() && !history.is_array())
    return badInput(fmt::format("the field 'history' is {}, expected a list of pairs", history.type_name()));
  for (const Json& pair : history) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string())
      return badInput("the field 'history' holds something other than pairs of what was asked and answered");
    say(conversation, "user", pair[0].get<std::string>());
    say(conversation, "assistant", pair[1].get<std::string>());
  }
  if (!input.empty()) instruction += (instruction.empty() ? "" : "\n\n") + input;
  say(conversation, "user", std::move(instruction));
  say(conversation, "assistant", std::move(output));
  return conversation;
}

/// Of a text, or of parts that are texts.
Result<Json> contentOf(const Json& content) {
  if (content.is_string() || content.is_null()) return content;
  if (!content.is_array()) return badInput(fmt::format("has {} as its content, expected a text", content.type_name()));
  std::string text;
  for (const Json& part : content) {
    const Json type = part.is_object() ? fieldOf(part, "type") : Json();
    if (part.is_string()) {
      text += part.get_ref<const std::string&>();
    } else if (type == "text" && fieldOf(part, "text").is_string()) {
      text += part["text"].get_ref<const std::string&>();
    } else {
      return badInput(fmt::format("holds a part of type {}, expected texts alone",
                                  type.is_string() ? type.get<std::string>() : std::string("unknown")));
    }
  }
  return Json(std::move(text));
}

Result<bool> isLearnable(const Json& message) {
  const Json& weight = fieldOf(message, "weight");
  const Json& train = fieldOf(message, "train");
  if (!weight.is_null() && !(weight.is_number() && (weight == 0 || weight == 1)))
    return badInput(fmt::format("has the weight {}, expected 0 or 1", weight.dump()));
  if (!train.is_null() && !train.is_boolean())
    return badInput(fmt::format("has {} as train, expected true or false", train.dump()));
  return !(weight == 0) && !(train == false);
}

Result<Json> readMessage(const Json& message) {
  if (!message.is_object()) return badInput(fmt::format("is {}, expected an object", message.type_name()));
  const bool shareGpt = message.contains("from");
  const Json& role = fieldOf(message, shareGpt ? "from" : "role");
  if (!role.is_string()) return badInput("has no role");
  const char* known = nullptr;
  for (const auto& [name, means] : roles)
    if (role == name) known = means;
  if (!known)
    return badInput(fmt::format("has the role '{}', expected system, user or human, assistant, gpt or model, or tool",
                                role.get<std::string>()));
  Json result = {{"role", known}};
  const char* const contentKey = shareGpt ? "value" : "content";
  const bool calls = message.contains("tool_calls");
  if (!calls && fieldOf(message, contentKey).is_null()) return badInput(fmt::format("has no {}", contentKey));
  MILLRACE_TRY(result["content"], contentOf(fieldOf(message, contentKey)));
  for (const auto& [key, value] : message.items())
    if (key != "role" && key != "from" && key != "content" && key != "value" && key != "weight" && key != "train")
      result[key] = value;
  return result;
}

Result<Conversation> readMessages(const Json& row, const char* first, const char* second) {
  const char* const field = row.contains(first) ? first : row.contains(second) ? second : first;
  const Json& list = fieldOf(row, field);
  if (!list.is_array())
    return badInput(list.is_null() ? fmt::format("there is no field '{}'", field)
                                   : fmt::format("the field '{}' is {}, expected a list", field, list.type_name()));
  if (list.empty()) return badInput(fmt::format("the field '{}' is an empty list", field));
  if (list.size() > mostMessages)
    return badInput(fmt::format("the conversation has {} messages, at most {} are taken", list.size(), mostMessages));
  Conversation conversation;
  Json& messages = conversation.variables["messages"] = Json::array();
  MILLRACE_TRY(const std::string system, textOf(row, "system", false));
  if (!system.empty()) say(conversation, "system", system);
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto at = [&](const Error& error) { return badInput(fmt::format("message {} {}", i + 1, error.message)); };
    auto message = readMessage(list[i]);
    if (!message) return at(message.error());
    const auto learnable = isLearnable(list[i]);
    if (!learnable) return at(learnable.error());
    messages.push_back(std::move(*message));
    conversation.learnable.push_back(*learnable);
  }
  if (const Json& tools = fieldOf(row, "tools"); !tools.is_null() && tools != "") {
    conversation.variables["tools"] = tools;
    if (tools.is_string()) { // some write the list as a text
      MILLRACE_TRY(conversation.variables["tools"],
                   parseJson(tools.get_ref<const std::string&>(), "the field 'tools'"));
    }
  }
  return conversation;
}

} // namespace

std::string Conversation::contents() const {
  std::string text;
  for (const Json& message : messages()) {
    if (!message["content"].is_string()) continue;
    if (!text.empty()) text += '\n';
    text += message["content"].get_ref<const std::string&>();
  }
  return text;
}

bool isConversation(DataFormat format) {
  return format == DataFormat::Alpaca || format == DataFormat::ShareGpt || format == DataFormat::Messages;
}

Result<Conversation> readConversation(DataFormat format, const Json& row) {
  if (format == DataFormat::Alpaca) return readAlpaca(row);
  return format == DataFormat::ShareGpt ? readMessages(row, "conversations", "messages")
                                        : readMessages(row, "messages", "conversations");
}

} // namespace millrace
