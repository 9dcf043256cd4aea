// Chat templates: how a conversation becomes the text that a model was, or will be, trained on. Immutable; any thread.
#pragma once

#include "base/json_reader.h"
#include "text/jinja/template.h"

#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// A conversation as text.
struct RenderedChat {
  std::string text;
  /// What assistants say, with the tokens that end their turns: what a chat model learns. Bytes of the text, in order,
  /// apart from one another.
  std::vector<jinja::ByteRange> assistant;
};

class ChatTemplate {
 public:
  /// The template's own text; where names it in errors.
  static Result<ChatTemplate> parse(std::string_view source, const std::string& where);
  /// The template of a model folder: chat_template.jinja, or chat_template in tokenizer_config.json. Where that has
  /// several, `name` picks one ("" the one called default). Special tokens of the folder (bos_token, eos_token, ...)
  /// become variables. A folder without a template is an error that says how to choose one.
  static Result<ChatTemplate> load(FileSystem& files, const Path& folder, const std::string& name = "");
  /// One of builtInNames(), for base models, which have none.
  static Result<ChatTemplate> builtIn(const std::string& name);
  static std::vector<std::string> builtInNames();

  /// Renders with these variables (messages, tools, add_generation_prompt, ...) and those of defaults() that are not
  /// among them.
  tl::expected<jinja::Rendering, jinja::TemplateFault> render(const Json& variables) const;

  /// Renders a conversation for training: variables as for render(), with `messages` a list of objects that have a
  /// role. Where the template has generation tags, what they hold is what assistants say, exactly as transformers masks
  /// it. Else it is found by rendering the beginnings of the conversation: from behind what asks an assistant to speak
  /// up to the end of its turn. A template with which that cannot be told is an error that says at which message. The
  /// day that a template may write is always the same one.
  Result<RenderedChat> renderForTraining(const Json& variables) const;
  /// The text of renderForTraining() alone, which takes less time.
  Result<std::string> renderText(const Json& variables) const;

  /// What ends an assistant's turn behind what it says, without white space: "<|im_end|>". Empty where nothing does, or
  /// it cannot be told.
  std::string turnEnd() const;

  /// Variables that are there unless others of the name are given.
  const Json& defaults() const { return m_defaults; }
  void setDefault(const std::string& name, Json value) { m_defaults[name] = std::move(value); }
  /// The template's own text, to be written beside an exported model.
  const std::string& source() const { return m_source; }
  const std::string& where() const { return m_where; }

 private:
  Result<Json> trainingVariables(const Json& variables) const;
  ChatTemplate(jinja::Template parsed, std::string source, std::string where)
      : m_template(std::move(parsed)), m_source(std::move(source)), m_where(std::move(where)) {}

  jinja::Template m_template;
  std::string m_source;
  std::string m_where;
  Json m_defaults = Json::object();
};

} // namespace millrace
