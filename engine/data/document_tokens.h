// What becomes of a usable record: token ids, and the facts that the cache keeps of a document. Immutable; any thread.
#pragma once

#include "data/conversation_tokens.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

/// A document, or a part of a long one of plain text.
struct SourceDocument {
  std::string text;                         ///< empty where there is a conversation
  std::optional<Conversation> conversation; ///< always a document of its own
  std::string set;                          ///< the name of its set; empty: none
  std::size_t file = 0;                     ///< where it is from
  std::int64_t line = 0;
  bool first = true; ///< begins a document
  bool last = true;  ///< ends a document
};

/// What a record becomes.
struct TokenizedRecord {
  /// Of plain text one, which may be a part of a document or have no tokens; of a conversation none, one or several.
  std::vector<TokenizedDocument> documents;
  bool complete = false; ///< they end as the chat template ends them: no end-of-text token belongs behind them
  std::string problem;   ///< why the row cannot be used; empty: it can
  ConversationCounts counts;
};

/// What the tokenizer puts in front of a text ("<s>"): every document begins with it, as what a model is prompted with
/// does.
std::vector<std::int32_t> textPrefix(const Tokenizer& tokenizer);

class DocumentTokens {
 public:
  /// chat: null where no source holds conversations.
  DocumentTokens(const Tokenizer& tokenizer, std::shared_ptr<const ConversationTokens> chat);

  /// Errors end the run: the tokenizer cannot cope with the text. The set is not known here.
  Result<TokenizedRecord> tokenize(const SourceDocument& document) const;

 private:
  const Tokenizer& m_tokenizer;
  std::shared_ptr<const ConversationTokens> m_chat;
  const std::vector<std::int32_t> m_prefix;
};

} // namespace millrace
