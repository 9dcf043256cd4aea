#include "text/tokenizer.h"

#include "text/tokenizer_impl.h"
#include "text/utf8.h"

#include <fmt/format.h>

namespace millrace {

namespace {
constexpr std::size_t longestText = std::size_t{1} << 30; // positions are 32-bit inside
}

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::unique_ptr<EncodeScratch> Tokenizer::Impl::takeScratch() {
  {
    Lock lock(m_mutex);
    if (!m_idle.empty()) {
      auto scratch = std::move(m_idle.back());
      m_idle.pop_back();
      return scratch;
    }
  }
  return std::make_unique<EncodeScratch>();
}

void Tokenizer::Impl::giveScratch(std::unique_ptr<EncodeScratch> scratch) {
  Lock lock(m_mutex);
  m_idle.push_back(std::move(scratch));
}

/// Text between added tokens that are looked for in the raw text.
Status Tokenizer::Impl::encodeSection(std::string_view text, bool atStart, EncodeScratch& scratch,
                                      std::vector<std::int32_t>& ids) const {
  if (normalizer && !normalizer->leavesAlone(text)) {
    scratch.normalized.text.assign(text);
    scratch.normalized.atStart = atStart;
    scratch.normalized.given = text.size();
    MILLRACE_CHECK(normalizer->apply(scratch.normalized, scratch.regex));
    text = scratch.normalized.text;
    atStart = scratch.normalized.atStart;
  }
  scratch.innerSections.clear();
  normalizedTokens.cut(text, scratch.innerSections);
  for (const TextSection& section : scratch.innerSections) {
    if (section.id >= 0) {
      ids.push_back(section.id);
      continue;
    }
    scratch.pieces.reset(text.substr(section.begin, section.end - section.begin), atStart && section.begin == 0);
    if (preTokenizer) MILLRACE_CHECK(preTokenizer->apply(scratch.pieces, scratch.regex));
    for (const PieceList::Piece& piece : scratch.pieces.pieces()) model.encode(piece.text, scratch.bpe, ids);
  }
  return {};
}

Status Tokenizer::Impl::encodeText(std::string_view text, EncodeScratch& scratch,
                                   std::vector<std::int32_t>& ids) const {
  scratch.sections.clear();
  rawTokens.cut(text, scratch.sections);
  for (const TextSection& section : scratch.sections) {
    if (section.id >= 0)
      ids.push_back(section.id);
    else
      MILLRACE_CHECK(
          encodeSection(text.substr(section.begin, section.end - section.begin), section.begin == 0, scratch, ids));
  }
  return {};
}

Status Tokenizer::Impl::checkLength(std::string_view text) {
  if (text.size() < longestText) return {};
  return badInput(fmt::format("a text of {} cannot be tokenized in one piece, the limit is {}",
                              formatBytes(static_cast<Bytes>(text.size())), formatBytes(GiB)));
}

Status Tokenizer::encode(std::string_view text, bool addSpecial, std::vector<std::int32_t>& ids) const {
  MILLRACE_CHECK(Impl::checkLength(text));
  std::string repaired;
  if (!isValidUtf8(text)) {
    appendRepairedUtf8(text, repaired);
    text = repaired;
  }
  const std::size_t before = ids.size();
  auto scratch = m_impl->takeScratch();
  const Status outcome = m_impl->encodeText(text, *scratch, ids);
  m_impl->giveScratch(std::move(scratch));
  if (!outcome) {
    ids.resize(before);
    return outcome;
  }
  if (addSpecial && m_impl->postProcessor) m_impl->postProcessor->apply(ids, before);
  return {};
}

Result<std::vector<std::int32_t>> Tokenizer::encode(std::string_view text, bool addSpecial) const {
  std::vector<std::int32_t> ids;
  MILLRACE_CHECK(encode(text, addSpecial, ids));
  return ids;
}

std::string Tokenizer::Impl::decodeTokens(std::vector<std::string> texts) const {
  if (decoder) decoder->apply(texts);
  std::string text;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0 && !decoder) text += ' '; // what Hugging Face does without a decoder
    text += texts[i];
  }
  return text;
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids, bool skipSpecial) const {
  std::string bytes;
  std::vector<std::string> texts;
  for (const std::int32_t id : ids) {
    if (!token(id) || (skipSpecial && isSpecial(id))) continue;
    if (m_impl->byteLevelDecoder)
      bytes += m_impl->bytes[static_cast<std::size_t>(id)];
    else
      texts.push_back(m_impl->shown[static_cast<std::size_t>(id)]);
  }
  if (!m_impl->byteLevelDecoder) return m_impl->decodeTokens(std::move(texts));
  if (isValidUtf8(bytes)) return bytes;
  std::string text;
  appendRepairedUtf8(bytes, text);
  return text;
}

std::int64_t Tokenizer::vocabularySize() const {
  return static_cast<std::int64_t>(m_impl->tokens.size());
}

std::optional<std::int32_t> Tokenizer::idOf(std::string_view token) const {
  if (const auto entry = m_impl->addedIds.find(token); entry != m_impl->addedIds.end()) return entry->second;
  return m_impl->model.idOf(token);
}

std::optional<std::string_view> Tokenizer::token(std::int32_t id) const {
  if (id < 0 || id >= vocabularySize() || !m_impl->present[static_cast<std::size_t>(id)]) return std::nullopt;
  return m_impl->tokens[static_cast<std::size_t>(id)];
}

bool Tokenizer::isSpecial(std::int32_t id) const {
  return id >= 0 && id < vocabularySize() && m_impl->special[static_cast<std::size_t>(id)];
}

std::int32_t Tokenizer::tokenBytes(std::int32_t id) const {
  const auto text = token(id);
  if (!text || isSpecial(id)) return 0;
  if (m_impl->byteLevelDecoder) return static_cast<std::int32_t>(m_impl->bytes[static_cast<std::size_t>(id)].size());
  if (m_impl->decoder && m_impl->decoder->hasByteFallback() && byteOfFallbackToken(*text) >= 0) return 1;
  // Behind another token, since decoders may treat the first one in its own way.
  const std::string alone = m_impl->decodeTokens({"x"});
  const std::string both = m_impl->decodeTokens({"x", m_impl->shown[static_cast<std::size_t>(id)]});
  return both.size() > alone.size() ? static_cast<std::int32_t>(both.size() - alone.size()) : 0;
}

std::optional<std::int32_t> Tokenizer::endOfText() const {
  for (const char* name : {"<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|end▁of▁sentence|>",
                           "<｜end▁of▁sentence｜>", "<|eot_id|>", "<|im_end|>"})
    if (const auto id = idOf(name); id && isSpecial(*id)) return id;
  return std::nullopt;
}

std::optional<std::int32_t> Tokenizer::beginOfText() const {
  for (const char* name : {"<|begin_of_text|>", "<s>", "<bos>", "<｜begin▁of▁sentence｜>"})
    if (const auto id = idOf(name); id && isSpecial(*id)) return id;
  return std::nullopt;
}

const std::string& Tokenizer::fingerprint() const {
  return m_impl->fingerprint;
}

bool Tokenizer::worksByLine() const {
  return m_impl->worksByLine;
}

} // namespace millrace
