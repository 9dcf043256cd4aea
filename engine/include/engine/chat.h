// Chat templates for the programs: conversations as lines of JSON in, rendered text out.
#pragma once

#include "base/file.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// Which template; exactly one of the three is set.
struct ChatTemplateChoice {
  Path file;           ///< a Jinja template
  Path model;          ///< a model folder, whose special tokens are known to the template
  std::string builtIn; ///< one of builtInChatTemplates()
  std::string name;    ///< with model: which one, where it has several; empty: the default
};

std::vector<std::string> builtInChatTemplates();

struct ChatMessage {
  std::string role; ///< "system", "user", "assistant", or what else the template knows
  std::string content;
};

/// A chat template at work. Immutable; any thread.
class ChatRenderer {
 public:
  /// Errors name the file and the line. A template that cannot be parsed is no error here but of every line, so that
  /// each line has its answer: see problem().
  static Result<ChatRenderer> open(FileSystem& files, const ChatTemplateChoice& choice);
  ~ChatRenderer();
  ChatRenderer(ChatRenderer&&) noexcept;
  ChatRenderer& operator=(ChatRenderer&&) noexcept;

  /// What is wrong with the template itself, with its file and line; empty: nothing.
  const std::string& problem() const;

  /// An object of variables (messages, tools, add_generation_prompt, ...) to {"rendered":...}, or to {"error":...} with
  /// what the template says or what is wrong with the line. ranges: renders for training, and gives
  /// "assistant":[[begin,end],...] as well, the bytes of UTF-8 that assistants say.
  std::string renderLine(std::string_view line, bool ranges, const std::string& source) const;

  /// The conversation so far, and what asks the assistant to speak: the prompt of a generation, whole as it is. Errors:
  /// BadInput with what the template says.
  Result<std::string> renderPrompt(std::span<const ChatMessage> messages) const;

  /// What ends an assistant's turn: "<|im_end|>"; empty where nothing does.
  std::string turnEnd() const;

 private:
  struct Implementation;
  explicit ChatRenderer(std::unique_ptr<Implementation> implementation);
  std::unique_ptr<Implementation> m_implementation;
};

} // namespace millrace
