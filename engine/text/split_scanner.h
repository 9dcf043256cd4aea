// Hand-written scanners for the split patterns that nearly every byte-level model uses; each gives the same pieces as
// its pattern, at a multiple of a regular expression engine's speed. Immutable, any thread.
#pragma once

#include "text/unicode.h"
#include "text/utf8.h"

#include <optional>
#include <string_view>

namespace millrace {

enum class KnownSplit {
  Gpt2,         ///< what ByteLevel with use_regex does
  Cl100kDigits, ///< Llama 3: digits in groups of up to three
  Cl100kDigit,  ///< Qwen2: each digit alone
};

/// The pattern of a KnownSplit, and the KnownSplit of a pattern.
std::string_view knownSplitPattern(KnownSplit split);
std::optional<KnownSplit> findKnownSplit(std::string_view pattern);

/// Cuts valid UTF-8 into the pattern's matches, which together cover the text.
class SplitScanner {
 public:
  SplitScanner(KnownSplit split, std::string_view text)
      : m_split(split),
        m_kinds(CharKindTable::instance()),
        m_begin(text.data()),
        m_at(text.data()),
        m_end(text.data() + text.size()) {}

  bool atEnd() const { return m_at == m_end; }
  /// The next piece; only when not atEnd().
  std::string_view next() {
    const char* const start = m_at;
    m_at = m_split == KnownSplit::Gpt2 ? gpt2(start) : cl100k(start);
    return {start, static_cast<std::size_t>(m_at - start)};
  }

 private:
  struct Char {
    CharKind kind;
    int length;
  };
  Char look(const char* p) const {
    const auto first = static_cast<unsigned char>(*p);
    if (first < 0x80) return {m_kinds.ascii(first), 1};
    const int length = utf8Length(first);
    return {m_kinds[readUtf8(p, length)], length};
  }
  /// The end of the run of `kind` from p on.
  const char* run(const char* p, CharKind kind) const {
    while (p < m_end) {
      const Char c = look(p);
      if (c.kind != kind) break;
      p += c.length;
    }
    return p;
  }
  const char* gpt2(const char* p) const;
  const char* cl100k(const char* p) const;
  const char* whitespace(const char* p, bool lineBreaksEndIt) const;

  KnownSplit m_split;
  const CharKindTable& m_kinds;
  const char* m_begin;
  const char* m_at;
  const char* m_end;
};

} // namespace millrace
