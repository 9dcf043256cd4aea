#include "text/text_stream.h"

#include "text/tokenizer_impl.h"
#include "text/utf8.h"

#include <algorithm>

namespace millrace {

bool TextStream::shows(std::int32_t id) const {
  return m_tokenizer.token(id).has_value() && !(m_skipSpecial && m_tokenizer.isSpecial(id));
}

void TextStream::begin(std::span<const std::int32_t> before) {
  (void)finish();
  const Tokenizer::Impl& parts = *m_tokenizer.m_impl;
  if (parts.byteLevelDecoder) return;
  const auto last = std::find_if(before.rbegin(), before.rend(), [this](std::int32_t id) { return shows(id); });
  if (last != before.rend()) m_shown = {parts.shown[static_cast<std::size_t>(*last)]};
}

std::string TextStream::push(std::int32_t id) {
  if (!shows(id)) return {};
  const Tokenizer::Impl& parts = *m_tokenizer.m_impl;
  if (parts.byteLevelDecoder) {
    m_bytes += parts.bytes[static_cast<std::size_t>(id)];
    const std::size_t tail = incompleteUtf8Tail(m_bytes);
    std::string text;
    appendRepairedUtf8(std::string_view(m_bytes).substr(0, m_bytes.size() - tail), text);
    m_bytes.erase(0, m_bytes.size() - tail);
    return text;
  }
  m_waiting.push_back(parts.shown[static_cast<std::size_t>(id)]);
  if (parts.decoder && parts.decoder->hasByteFallback()) {
    std::string run; // the byte tokens at the end
    for (const std::string& waiting : m_waiting) {
      const int byte = byteOfFallbackToken(waiting);
      if (byte < 0)
        run.clear();
      else
        run.push_back(static_cast<char>(byte));
    }
    if (incompleteUtf8Tail(run) > 0) return {};
  }
  return takeWaiting();
}

std::string TextStream::takeWaiting() {
  if (m_waiting.empty()) return {};
  const Tokenizer::Impl& parts = *m_tokenizer.m_impl;
  // Decoders look at neighbours and treat the first token apart, so the new tokens are decoded behind the ones shown
  // last. A run of bytes is closed by what is shown: decoded again together with further bytes it could change.
  std::vector<std::string> before = m_shown;
  if (!before.empty() && parts.decoder && byteOfFallbackToken(before.back()) >= 0) before = {"x"};
  std::vector<std::string> both = before;
  both.insert(both.end(), m_waiting.begin(), m_waiting.end());
  const std::string known = before.empty() ? std::string() : parts.decodeTokens(before);
  std::string text = parts.decodeTokens(both);
  text.erase(0, std::min(known.size(), text.size()));
  m_shown = std::move(m_waiting);
  m_waiting.clear();
  return text;
}

std::string TextStream::finish() {
  std::string text;
  if (m_tokenizer.m_impl->byteLevelDecoder)
    appendRepairedUtf8(m_bytes, text);
  else
    text = takeWaiting();
  m_bytes.clear();
  m_shown.clear();
  return text;
}

std::string continuationText(const Tokenizer& tokenizer, std::span<const std::int32_t> before,
                             std::span<const std::int32_t> tokens, bool skipSpecial) {
  TextStream stream(tokenizer, skipSpecial);
  stream.begin(before);
  std::string text;
  for (const std::int32_t id : tokens) text += stream.push(id);
  return text + stream.finish();
}

} // namespace millrace
