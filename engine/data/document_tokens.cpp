#include "data/document_tokens.h"

#include "base/hash.h"

#include <algorithm>

namespace millrace {

std::vector<std::int32_t> textPrefix(const Tokenizer& tokenizer) {
  const auto bare = tokenizer.encode("a", false), whole = tokenizer.encode("a", true);
  if (!bare || !whole || bare->empty()) return {};
  return {whole->begin(), std::search(whole->begin(), whole->end(), bare->begin(), bare->end())};
}

DocumentTokens::DocumentTokens(const Tokenizer& tokenizer, std::shared_ptr<const ConversationTokens> chat)
    : m_tokenizer(tokenizer), m_chat(std::move(chat)), m_prefix(textPrefix(tokenizer)) {}

Result<TokenizedRecord> DocumentTokens::tokenize(const SourceDocument& document) const {
  TokenizedRecord record;
  if (!document.conversation) {
    TokenizedDocument& text = record.documents.emplace_back();
    MILLRACE_CHECK(m_tokenizer.encode(document.text, false, text.ids));
    if (document.first && !text.ids.empty()) text.ids.insert(text.ids.begin(), m_prefix.begin(), m_prefix.end());
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
