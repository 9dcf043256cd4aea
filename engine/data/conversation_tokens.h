// A conversation to tokens, by a chat template, with what of it is learnt. Immutable; any thread.
#pragma once

#include "data/conversation.h"
#include "data/data_spec.h"
#include "data/tokenized_document.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

#include <vector>

namespace millrace {

/// The template of a project's choice. No choice, and a folder without a template, are errors that say what to set.
Result<ChatTemplate> loadChatTemplate(FileSystem& files, const ChatTemplateChoice& choice);

class ConversationTokens {
 public:
  /// By loadChatTemplate(), with the tokenizer's names for tokens that begin and end a text where the template has
  /// none.
  static Result<ConversationTokens> create(FileSystem& files, const ChatSpec& spec, const Tokenizer& tokenizer);

  /// No document, one, or several where it is split, which have the same hash, so that none is held back without the
  /// others; counts: added to. The ids are exactly those of the whole rendered text, and a token is learnt if it begins
  /// inside what is. Errors are those of the row: the template refuses it, or does
  /// not tell what assistants say.
  Result<std::vector<TokenizedDocument>> tokenize(const Conversation& conversation, ConversationCounts& counts) const;

  /// Of all that decides the tokens of a conversation, apart from the tokenizer.
  std::string fingerprint() const;
  const ChatTemplate& chatTemplate() const { return m_template; }
  /// Marks such as <|im_end|> that the template writes and the tokenizer has no token for: text like any other then.
  std::vector<std::string> marksWithoutToken() const;

 private:
  ConversationTokens(ChatTemplate chat, const ChatSpec& spec, const Tokenizer& tokenizer)
      : m_template(std::move(chat)), m_spec(spec), m_tokenizer(&tokenizer) {}

  Result<TokenizedDocument> tokenizeWhole(const Conversation& conversation) const;
  bool isOverLong(const TokenizedDocument& document) const {
    return static_cast<std::int64_t>(document.ids.size()) > m_spec.context;
  }
  Result<bool> fits(const Conversation& conversation) const;
  Result<std::vector<TokenizedDocument>> split(const Conversation& conversation, ConversationCounts& counts) const;
  void truncate(TokenizedDocument& document) const;

  ChatTemplate m_template;
  ChatSpec m_spec;
  const Tokenizer* m_tokenizer;
};

} // namespace millrace
