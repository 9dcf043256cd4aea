#include "text/chat_template.h"

#include "text/assistant_ranges.h"
#include "text/chat_template_files.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

Json withDefaults(const Json& variables, const Json& defaults) {
  Json all = variables;
  for (const auto& [name, value] : defaults.items())
    if (!all.contains(name)) all[name] = value;
  return all;
}

} // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string_view source, const std::string& where) {
  auto parsed = jinja::Template::parse(source);
  if (!parsed) return badInput(describeTemplateFault(parsed.error(), where));
  return ChatTemplate(std::move(*parsed), std::string(source), where);
}

Result<ChatTemplate> ChatTemplate::load(FileSystem& files, const Path& folder, const std::string& name) {
  MILLRACE_TRY(const FoundTemplate found, findChatTemplate(files, folder, name));
  MILLRACE_TRY(ChatTemplate made, parse(found.source, found.where));
  made.m_defaults = found.specialTokens;
  return made;
}

tl::expected<jinja::Rendering, jinja::TemplateFault> ChatTemplate::render(const Json& variables) const {
  if (m_defaults.empty() || !variables.is_object()) return m_template.render(variables);
  return m_template.render(withDefaults(variables, m_defaults));
}

Result<Json> ChatTemplate::trainingVariables(const Json& variables) const {
  if (!variables.is_object() || !variables.contains("messages") || !variables["messages"].is_array())
    return badInput(fmt::format("{}: a conversation needs a list of messages", m_where));
  Json all = withDefaults(variables, m_defaults);
  // What transformers always passes.
  for (const char* name : {"tools", "documents"})
    if (!all.contains(name)) all[name] = nullptr;
  all["add_generation_prompt"] = false;
  return all;
}

std::string ChatTemplate::turnEnd() const {
  constexpr std::string_view said = "An answer.";
  const Json conversation = {
      {"messages", {{{"role", "user"}, {"content", "A question?"}}, {{"role", "assistant"}, {"content", said}}}}};
  const auto chat = renderForTraining(conversation);
  if (!chat || chat->assistant.empty()) return {};
  const jinja::ByteRange turn = chat->assistant.back();
  const std::string_view text = std::string_view(chat->text).substr(turn.begin, turn.end - turn.begin);
  const std::size_t at = text.rfind(said);
  if (at == std::string_view::npos) return {};
  const std::string_view behind = text.substr(at + said.size());
  const std::size_t begin = behind.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(behind.substr(begin, behind.find_last_not_of(" \t\r\n") + 1 - begin));
}

Result<std::string> ChatTemplate::renderText(const Json& variables) const {
  MILLRACE_TRY(const Json all, trainingVariables(variables));
  auto rendered = m_template.render(all, {}, trainingDay());
  if (!rendered) return badInput(describeTemplateFault(rendered.error(), m_where));
  return std::move(rendered->text);
}

Result<RenderedChat> ChatTemplate::renderForTraining(const Json& variables) const {
  MILLRACE_TRY(const Json all, trainingVariables(variables));
  auto rendered = m_template.render(all, {}, trainingDay());
  if (!rendered) return badInput(describeTemplateFault(rendered.error(), m_where));
  RenderedChat chat;
  chat.text = std::move(rendered->text);
  if (m_template.marksGeneration()) {
    chat.assistant = joinedRanges(std::move(rendered->generated), chat.text.size());
    return chat;
  }
  MILLRACE_TRY(chat.assistant, findAssistantRanges(m_template, all, chat.text, m_where));
  return chat;
}

} // namespace millrace
