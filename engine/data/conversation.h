// Conversations as rows of JSON spell them (Alpaca, ShareGPT, lists of messages), in the one form that chat templates
// take. Pure; any thread.
#pragma once

#include "base/json_reader.h"
#include "engine/project.h"

#include <string>
#include <vector>

namespace millrace {

struct Conversation {
  /// What a template is given: "messages", each with a role (system, user, assistant, tool), its content, and whatever
  /// else the row says of it (tool_calls, name, ...); "tools", where the row has them.
  Json variables = Json::object();
  /// By message: whether its own weight or train lets it be learnt.
  std::vector<bool> learnable;

  const Json& messages() const { return variables["messages"]; }
  /// What is said, without roles and marks of a template: message by message, a line feed between them.
  std::string contents() const;
};

/// Longer conversations are unusable rows: what assistants say is found in time that grows with the square of it.
inline constexpr std::size_t mostMessages = 1024;

/// Whether rows of the format are conversations, and of which fields.
bool isConversation(DataFormat format);

/// Makes a conversation of a row that is an object; format is Alpaca, ShareGpt or Messages. Alpaca: instruction and
/// input are what the user says, with an empty line between them, and output is the answer; "system" and "history" are
/// taken where they are there. An error says what is wrong, and at which message.
Result<Conversation> readConversation(DataFormat format, const Json& row);

} // namespace millrace
