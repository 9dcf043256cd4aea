// What becomes of a usable record: token ids, and the facts that the cache keeps of a document. Immutable; any thread.
#pragma once

#include "data/conversation_tokens.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace {

/// A document, or a part of a long one of plain text.
struct SourceDocument {
  std::string text;                         ///< empty where there is a conversation
  std::optional<Conversation> conversation; ///< always a document of its own
  std::string set;                          ///< the name of its set; empty: none
  std::size_t file = 0;                     ///< where it begins
  std::int64_t line = 0;
  bool first = true; ///< begins a document
  bool last = true;  ///< ends a document
};

/// A document or a part of one as tokens, the last of a list of ids that it was appended to.
struct TokenizedPiece {
  std::size_t end = 0; ///< of its ids in the list
  DocumentFacts facts; ///< of this piece; the set is not known here
  bool first = true;
  bool last = true;
  bool complete = false; ///< as the chat template ends it: no end-of-text token is put behind it
};

struct TokenizedPieces {
  std::vector<std::int32_t> ids;
  std::vector<TokenizedPiece> pieces;
  std::vector<std::size_t> ends;     ///< by document that was appended: of its pieces
  std::vector<std::string> problems; ///< by document: why its row cannot be used; empty: it can
  ConversationCounts counts;
};

class DocumentTokens {
 public:
  /// chat: null where no source holds conversations.
  DocumentTokens(const Tokenizer& tokenizer, std::shared_ptr<const ConversationTokens> chat)
      : m_tokenizer(tokenizer), m_chat(std::move(chat)) {}

  /// Appends what the document becomes. Errors end the run: the tokenizer cannot cope with the text.
  Status append(const SourceDocument& document, TokenizedPieces& out) const;

 private:
  const Tokenizer& m_tokenizer;
  std::shared_ptr<const ConversationTokens> m_chat;
};

} // namespace millrace
