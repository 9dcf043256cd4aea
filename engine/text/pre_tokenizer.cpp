#include "text/pre_tokenizer.h"

#include "text/byte_level.h"
#include "text/pattern.h"
#include "text/split.h"
#include "text/split_scanner.h"
#include "text/unicode.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

using Piece = PieceList::Piece;

void appendScanned(KnownSplit split, const Piece& piece, std::vector<Piece>& out) {
  SplitScanner scanner(split, piece.text);
  bool atStart = piece.atStart;
  while (!scanner.atEnd()) {
    out.push_back({scanner.next(), atStart});
    atStart = false;
  }
}

class ByteLevel final : public PreTokenizer {
 public:
  ByteLevel(bool prefixSpace, bool split) : m_prefixSpace(prefixSpace), m_split(split) {}

  Status apply(PieceList& list, RegexScratch&) const override {
    MILLRACE_CHECK(list.forEach([&](Piece piece, std::vector<Piece>& out) -> Status {
      if (m_prefixSpace && piece.text.front() != ' ') piece.text = list.keep(fmt::format(" {}", piece.text));
      if (m_split)
        appendScanned(KnownSplit::Gpt2, piece, out);
      else
        out.push_back(piece);
      return {};
    }));
    if (!m_writeAlphabet) return {};
    return list.forEach([&](const Piece& piece, std::vector<Piece>& out) -> Status {
      std::string written;
      appendByteLevel(piece.text, written);
      out.push_back({list.keep(std::move(written)), piece.atStart});
      return {};
    });
  }
  LineCut lineCut() const override {
    return m_prefixSpace ? LineCut::Breaks : m_split ? LineCut::Cuts : LineCut::Allows;
  }
  bool leaveBytes() override {
    m_writeAlphabet = false;
    return true;
  }

 private:
  bool m_prefixSpace;
  bool m_split;
  bool m_writeAlphabet = true;
};

class KnownPatternSplit final : public PreTokenizer {
 public:
  explicit KnownPatternSplit(KnownSplit split) : m_split(split) {}
  Status apply(PieceList& list, RegexScratch&) const override {
    return list.forEach([&](const Piece& piece, std::vector<Piece>& out) -> Status {
      appendScanned(m_split, piece, out);
      return {};
    });
  }
  LineCut lineCut() const override { return LineCut::Cuts; }

 private:
  KnownSplit m_split;
};

class PatternSplit final : public PreTokenizer {
 public:
  PatternSplit(Regex pattern, SplitBehavior behavior, bool invert)
      : m_pattern(std::move(pattern)), m_behavior(behavior), m_invert(invert) {}
  Status apply(PieceList& list, RegexScratch& scratch) const override {
    std::vector<SplitSpan> spans;
    return list.forEach([&](const Piece& piece, std::vector<Piece>& out) -> Status {
      MILLRACE_CHECK(spansOfRegex(piece.text, m_pattern, m_invert, scratch, spans));
      appendSplit(piece, spans, m_behavior, out);
      return {};
    });
  }
  LineCut lineCut() const override { return LineCut::Breaks; }

 private:
  Regex m_pattern;
  SplitBehavior m_behavior;
  bool m_invert;
};

/// Splits at characters with a property: digits, punctuation, white space.
class CharacterSplit final : public PreTokenizer {
 public:
  using Property = bool (*)(char32_t);
  CharacterSplit(Property property, SplitBehavior behavior) : m_property(property), m_behavior(behavior) {}
  Status apply(PieceList& list, RegexScratch&) const override {
    std::vector<SplitSpan> spans;
    return list.forEach([&](const Piece& piece, std::vector<Piece>& out) -> Status {
      spansOfCharacters(piece.text, m_property, spans);
      appendSplit(piece, spans, m_behavior, out);
      return {};
    });
  }
  LineCut lineCut() const override {
    if (m_behavior == SplitBehavior::MergedWithNext || m_behavior == SplitBehavior::MergedWithPrevious)
      return LineCut::Breaks;
    return m_property(U'\n') ? LineCut::Cuts : LineCut::Allows;
  }

 private:
  Property m_property;
  SplitBehavior m_behavior;
};

/// \w+|[^\w\s]+, all else dropped.
class Whitespace final : public PreTokenizer {
 public:
  Status apply(PieceList& list, RegexScratch&) const override {
    return list.forEach([&](const Piece& piece, std::vector<Piece>& out) -> Status {
      enum class Kind { Word, Other, Space };
      std::size_t begin = 0;
      Kind running = Kind::Space;
      const auto close = [&](std::size_t end) {
        if (running != Kind::Space && begin < end)
          out.push_back({piece.text.substr(begin, end - begin), piece.atStart && begin == 0});
      };
      for (std::size_t at = 0; at < piece.text.size();) {
        const int length = utf8Length(static_cast<unsigned char>(piece.text[at]));
        const char32_t code = readUtf8(piece.text.data() + at, length);
        const Kind kind = isWordCharacter(code) ? Kind::Word : isWhiteSpace(code) ? Kind::Space : Kind::Other;
        if (kind != running) {
          close(at);
          begin = at;
          running = kind;
        }
        at += static_cast<std::size_t>(length);
      }
      close(piece.text.size());
      return {};
    });
  }
  LineCut lineCut() const override { return LineCut::Cuts; }
};

class Metaspace final : public PreTokenizer {
 public:
  enum class Prepend { Always, First, Never };
  Metaspace(char32_t replacement, Prepend prepend, bool split)
      : m_replacement(replacement), m_prepend(prepend), m_split(split) {
    appendUtf8(replacement, m_text);
  }
  Status apply(PieceList& list, RegexScratch&) const override {
    std::vector<SplitSpan> spans;
    return list.forEach([&](Piece piece, std::vector<Piece>& out) -> Status {
      std::string written;
      written.reserve(piece.text.size() + piece.text.size() / 2 + m_text.size());
      const bool mayPrepend = m_prepend == Prepend::Always || (m_prepend == Prepend::First && piece.atStart);
      if (mayPrepend && piece.text.front() != ' ' && !piece.text.starts_with(m_text)) written = m_text;
      for (const char c : piece.text) {
        if (c == ' ')
          written += m_text;
        else
          written += c;
      }
      piece.text = list.keep(std::move(written));
      if (!m_split) {
        out.push_back(piece);
        return {};
      }
      spansOfCharacters(
          piece.text, [&](char32_t code) { return code == m_replacement; }, spans);
      appendSplit(piece, spans, SplitBehavior::MergedWithNext, out);
      return {};
    });
  }
  LineCut lineCut() const override { return LineCut::Breaks; }

 private:
  char32_t m_replacement;
  std::string m_text;
  Prepend m_prepend;
  bool m_split;
};

class PreTokenizerSequence final : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<std::unique_ptr<PreTokenizer>> parts) : m_parts(std::move(parts)) {}
  Status apply(PieceList& list, RegexScratch& scratch) const override {
    for (const auto& part : m_parts) MILLRACE_CHECK(part->apply(list, scratch));
    return {};
  }
  LineCut lineCut() const override {
    for (const auto& part : m_parts)
      if (const LineCut cut = part->lineCut(); cut != LineCut::Allows)
        return cut; // behind Cuts, all see the same pieces
    return LineCut::Allows;
  }
  bool leaveBytes() override { return !m_parts.empty() && m_parts.back()->leaveBytes(); }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> m_parts;
};

Result<std::unique_ptr<PreTokenizer>> makeSplit(JsonReader& reader, const std::string& where) {
  MILLRACE_TRY(const SplitBehavior behavior, parseSplitBehavior(reader.text("behavior", ""), where));
  const bool invert = reader.boolean("invert", false);
  const Json& pattern = reader.value("pattern");
  if (pattern.is_object() && pattern.contains("Regex") && pattern["Regex"].is_string()) {
    const auto known = findKnownSplit(pattern["Regex"].get_ref<const std::string&>());
    // These patterns match everywhere, so there is nothing between the matches to keep or to remove.
    const bool keepsMatches = (behavior == SplitBehavior::Isolated) || (behavior == SplitBehavior::Removed && invert);
    if (known && keepsMatches) return std::make_unique<KnownPatternSplit>(*known);
  }
  MILLRACE_TRY(Regex regex, makePattern(pattern, where));
  return std::make_unique<PatternSplit>(std::move(regex), behavior, invert);
}

Result<std::unique_ptr<PreTokenizer>> makeMetaspace(JsonReader& reader, const std::string& where) {
  const std::string replacement = reader.text("replacement", "\xE2\x96\x81");
  if (replacement.empty() ||
      utf8Length(static_cast<unsigned char>(replacement[0])) != static_cast<int>(replacement.size()))
    return badInput(fmt::format("{}.replacement: expected one character", where));
  std::string scheme = reader.choice("prepend_scheme", "always", {"always", "first", "never"});
  if (!reader.boolean("add_prefix_space", true)) scheme = "never"; // the spelling before prepend_scheme
  const bool split = reader.boolean("split", true);
  reader.ignore("str_rep");
  const auto prepend = scheme == "always"  ? Metaspace::Prepend::Always
                       : scheme == "first" ? Metaspace::Prepend::First
                                           : Metaspace::Prepend::Never;
  return std::make_unique<Metaspace>(readUtf8(replacement.data(), static_cast<int>(replacement.size())), prepend,
                                     split);
}

Result<std::unique_ptr<PreTokenizer>> makeSequence(JsonReader& reader, const std::string& where) {
  std::vector<std::unique_ptr<PreTokenizer>> parts;
  const Json& list = reader.value("pretokenizers");
  if (!list.is_array()) return badInput(fmt::format("{}.pretokenizers: expected a list", where));
  for (std::size_t i = 0; i < list.size(); ++i) {
    MILLRACE_TRY(auto part, makePreTokenizer(list[i], fmt::format("{}.pretokenizers[{}]", where, i)));
    if (part) parts.push_back(std::move(part));
  }
  return std::make_unique<PreTokenizerSequence>(std::move(parts));
}

} // namespace

Result<std::unique_ptr<PreTokenizer>> makePreTokenizer(const Json& description, const std::string& where) {
  if (description.is_null()) return nullptr;
  MILLRACE_TRY(const std::string type, componentType(description, where));
  JsonReader reader(description, where, "");
  reader.ignore("type");
  std::unique_ptr<PreTokenizer> made;
  if (type == "ByteLevel") {
    const bool prefixSpace = reader.boolean("add_prefix_space", true);
    made = std::make_unique<ByteLevel>(prefixSpace, reader.boolean("use_regex", true));
    reader.ignore("trim_offsets");
  } else if (type == "Split") {
    MILLRACE_TRY(made, makeSplit(reader, where));
  } else if (type == "Digits") {
    const bool individual = reader.boolean("individual_digits", false);
    made =
        std::make_unique<CharacterSplit>(&isNumeric, individual ? SplitBehavior::Isolated : SplitBehavior::Contiguous);
  } else if (type == "Punctuation") {
    MILLRACE_TRY(const SplitBehavior behavior, parseSplitBehavior(reader.text("behavior", "Isolated"), where));
    made = std::make_unique<CharacterSplit>(&isPunctuation, behavior);
  } else if (type == "Whitespace") {
    made = std::make_unique<Whitespace>();
  } else if (type == "WhitespaceSplit") {
    made = std::make_unique<CharacterSplit>(&isWhiteSpace, SplitBehavior::Removed);
  } else if (type == "Metaspace") {
    MILLRACE_TRY(made, makeMetaspace(reader, where));
  } else if (type == "Sequence") {
    MILLRACE_TRY(made, makeSequence(reader, where));
  } else {
    return unsupportedComponent(
        where, description,
        {"ByteLevel", "Split", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit", "Metaspace", "Sequence"});
  }
  MILLRACE_CHECK(reader.finish());
  return made;
}

} // namespace millrace
