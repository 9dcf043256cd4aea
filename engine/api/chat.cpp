#include "engine/chat.h"

#include "text/chat_template.h"
#include "text/chat_template_files.h"

#include <fmt/format.h>

namespace millrace {

struct ChatRenderer::Implementation {
  std::optional<ChatTemplate> chat;
  std::string problem;     ///< of the template, with its file
  std::string lineProblem; ///< the same as every line is answered with it
};

namespace {

std::string errorLine(const std::string& message) {
  return Json{{"error", message}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<FoundTemplate> find(FileSystem& files, const ChatTemplateChoice& choice) {
  if (!choice.model.empty()) return findChatTemplate(files, choice.model, choice.name);
  FoundTemplate found;
  found.where = choice.file.string();
  MILLRACE_TRY(found.source, readTextFile(files, choice.file, static_cast<Bytes>(jinja::Template::longestSource)));
  return found;
}

} // namespace

std::vector<std::string> builtInChatTemplates() {
  return ChatTemplate::builtInNames();
}

ChatRenderer::ChatRenderer(std::unique_ptr<Implementation> implementation)
    : m_implementation(std::move(implementation)) {}
ChatRenderer::~ChatRenderer() = default;
ChatRenderer::ChatRenderer(ChatRenderer&&) noexcept = default;
ChatRenderer& ChatRenderer::operator=(ChatRenderer&&) noexcept = default;

Result<ChatRenderer> ChatRenderer::open(FileSystem& files, const ChatTemplateChoice& choice) {
  const int given = (choice.file.empty() ? 0 : 1) + (choice.model.empty() ? 0 : 1) + (choice.builtIn.empty() ? 0 : 1);
  if (given != 1) return badInput("choose one chat template: a file, a model folder, or a built-in one");
  if (!choice.name.empty() && choice.model.empty())
    return badInput("a chat template is picked by name from a model folder alone");
  auto implementation = std::make_unique<Implementation>();
  if (!choice.builtIn.empty()) {
    MILLRACE_TRY(implementation->chat, ChatTemplate::builtIn(choice.builtIn));
    return ChatRenderer(std::move(implementation));
  }
  MILLRACE_TRY(const FoundTemplate found, find(files, choice));
  if (const auto parsed = jinja::Template::parse(found.source); !parsed) {
    implementation->problem = describeTemplateFault(parsed.error(), found.where);
    implementation->lineProblem = parsed.error().text();
    return ChatRenderer(std::move(implementation));
  }
  MILLRACE_TRY(implementation->chat, ChatTemplate::parse(found.source, found.where));
  for (const auto& [name, token] : found.specialTokens.items()) implementation->chat->setDefault(name, token);
  return ChatRenderer(std::move(implementation));
}

const std::string& ChatRenderer::problem() const {
  return m_implementation->problem;
}

std::string ChatRenderer::renderLine(std::string_view line, bool ranges, const std::string& source) const {
  if (!m_implementation->chat) return errorLine(m_implementation->lineProblem);
  const auto variables = parseJson(line, source);
  if (!variables) return errorLine(variables.error().message);
  if (!variables->is_object())
    return errorLine(fmt::format("{}: holds {}, expected an object with messages", source, variables->type_name()));
  Json answer = Json::object();
  if (ranges) {
    auto chat = m_implementation->chat->renderForTraining(*variables);
    if (!chat) return errorLine(chat.error().message);
    answer["rendered"] = std::move(chat->text);
    answer["assistant"] = Json::array();
    for (const jinja::ByteRange& range : chat->assistant) answer["assistant"].push_back({range.begin, range.end});
  } else {
    auto rendered = m_implementation->chat->render(*variables);
    if (!rendered) return errorLine(rendered.error().text());
    answer["rendered"] = std::move(rendered->text);
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<std::string> ChatRenderer::renderPrompt(std::span<const ChatMessage> messages) const {
  if (!m_implementation->chat) return badInput(m_implementation->problem);
  // Templates ask whether there are tools and documents; as in training there are none.
  Json variables{
      {"messages", Json::array()}, {"add_generation_prompt", true}, {"tools", nullptr}, {"documents", nullptr}};
  for (const ChatMessage& message : messages)
    variables["messages"].push_back({{"role", message.role}, {"content", message.content}});
  auto rendered = m_implementation->chat->render(variables);
  if (!rendered) return badInput(describeTemplateFault(rendered.error(), m_implementation->chat->where()));
  return std::move(rendered->text);
}

std::string ChatRenderer::turnEnd() const {
  return m_implementation->chat ? m_implementation->chat->turnEnd() : std::string();
}

} // namespace millrace
