#include "data/document_tokens.h"

#include "base/hash.h"

namespace millrace {

Status DocumentTokens::append(const SourceDocument& document, TokenizedPieces& out) const {
  std::string problem;
  if (!document.conversation) {
    MILLRACE_CHECK(m_tokenizer.encode(document.text, false, out.ids));
    TokenizedPiece piece;
    piece.end = out.ids.size();
    piece.facts.hash = hash64(document.text);
    piece.facts.textBytes = document.text.size();
    piece.first = document.first;
    piece.last = document.last;
    out.pieces.push_back(std::move(piece));
  } else if (auto conversations = m_chat->tokenize(*document.conversation, out.counts)) {
    for (TokenizedConversation& conversation : *conversations) {
      out.ids.insert(out.ids.end(), conversation.ids.begin(), conversation.ids.end());
      TokenizedPiece piece;
      piece.end = out.ids.size();
      piece.facts = std::move(conversation.facts);
      piece.complete = true;
      out.pieces.push_back(std::move(piece));
    }
  } else {
    problem = std::move(conversations.error().message);
  }
  out.ends.push_back(out.pieces.size());
  out.problems.push_back(std::move(problem));
  return {};
}

} // namespace millrace
