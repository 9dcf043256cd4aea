#include "data/document_tokens.h"

#include "base/hash.h"

namespace millrace {

Result<TokenizedRecord> DocumentTokens::tokenize(const SourceDocument& document) const {
  TokenizedRecord record;
  if (!document.conversation) {
    TokenizedDocument& text = record.documents.emplace_back();
    MILLRACE_CHECK(m_tokenizer.encode(document.text, false, text.ids));
    text.facts.hash = hash64(document.text);
    text.facts.textBytes = document.text.size();
    return record;
  }
  record.complete = true;
  auto documents = m_chat->tokenize(*document.conversation, record.counts);
  if (documents)
    record.documents = std::move(*documents);
  else
    record.problem = std::move(documents.error().message);
  return record;
}

} // namespace millrace
