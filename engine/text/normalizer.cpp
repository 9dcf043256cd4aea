#include "text/normalizer.h"

#include "text/byte_level.h"
#include "text/pattern.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/uniset.h>

namespace millrace {

namespace {

bool isAscii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

/// NFC, NFD, NFKC, NFKD by ICU, of the characters of Unicode 9: those that came later stay as they are, since Hugging
/// Face's tables do not know them.
class UnicodeForm final : public Normalizer {
 public:
  UnicodeForm(const icu::Normalizer2* form, std::unique_ptr<icu::UnicodeSet> known)
      : m_form(form), m_known(std::move(known)), m_filtered(*form, *m_known) {}

  Status apply(NormalizedText& normalized, RegexScratch&) const override {
    std::string& text = normalized.text;
    UErrorCode code = U_ZERO_ERROR;
    std::string out;
    icu::StringByteSink<std::string> sink(&out,
                                          static_cast<std::int32_t>(std::min<std::size_t>(text.size(), INT32_MAX)));
    if (text.size() > INT32_MAX) return badInput("a text of more than 2 GiB cannot be normalized in one piece");
    m_filtered.normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())), sink, nullptr,
                             code);
    if (U_FAILURE(code)) return failed(fmt::format("Unicode normalization: {}", u_errorName(code)));
    text = std::move(out);
    return {};
  }
  bool leavesAlone(std::string_view text) const override {
    if (isAscii(text)) return true;
    if (text.size() > INT32_MAX) return false;
    UErrorCode code = U_ZERO_ERROR;
    // Of all characters, which is faster and no less true.
    return m_form->isNormalizedUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())), code) != 0 &&
           U_SUCCESS(code);
  }
  bool worksByLine() const override { return true; }

 private:
  const icu::Normalizer2* m_form; // owned by ICU
  std::unique_ptr<icu::UnicodeSet> m_known;
  icu::FilteredNormalizer2 m_filtered;
};

class Lowercase final : public Normalizer {
 public:
  Status apply(NormalizedText& normalized, RegexScratch&) const override {
    std::string& text = normalized.text;
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
      const int length = utf8Length(static_cast<unsigned char>(text[at]));
      appendLowerCase(readUtf8(text.data() + at, length), out);
      at += static_cast<std::size_t>(length);
    }
    text = std::move(out);
    return {};
  }
  bool leavesAlone(std::string_view text) const override { return text.empty(); }
  bool worksByLine() const override { return true; }
};

class Strip final : public Normalizer {
 public:
  Strip(bool left, bool right) : m_left(left), m_right(right) {}
  Status apply(NormalizedText& normalized, RegexScratch&) const override {
    std::string& text = normalized.text;
    std::size_t begin = 0;
    std::size_t end = text.size();
    while (m_left && begin < end) {
      const int length = utf8Length(static_cast<unsigned char>(text[begin]));
      if (!isWhiteSpace(readUtf8(text.data() + begin, length))) break;
      begin += static_cast<std::size_t>(length);
    }
    while (m_right && begin < end) {
      std::size_t last = end - 1;
      while (last > begin && (static_cast<unsigned char>(text[last]) & 0xC0) == 0x80) --last;
      if (!isWhiteSpace(readUtf8(text.data() + last, utf8Length(static_cast<unsigned char>(text[last]))))) break;
      end = last;
    }
    if (begin > 0) normalized.atStart = false;
    text = text.substr(begin, end - begin);
    return {};
  }
  bool leavesAlone(std::string_view text) const override { return text.empty(); }
  bool worksByLine() const override { return false; }

 private:
  bool m_left;
  bool m_right;
};

class StripAccents final : public Normalizer {
 public:
  Status apply(NormalizedText& normalized, RegexScratch&) const override {
    std::string& text = normalized.text;
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const int length = utf8Length(static_cast<unsigned char>(text[at]));
      if (!isMark(readUtf8(text.data() + at, length))) out.append(text, at, static_cast<std::size_t>(length));
      at += static_cast<std::size_t>(length);
    }
    text = std::move(out);
    return {};
  }
  bool leavesAlone(std::string_view text) const override { return isAscii(text); }
  bool worksByLine() const override { return true; }
};

class Prepend final : public Normalizer {
 public:
  explicit Prepend(std::string content) : m_content(std::move(content)) {}
  Status apply(NormalizedText& normalized, RegexScratch&) const override {
    std::string& text = normalized.text;
    if (!text.empty()) text.insert(0, m_content);
    return {};
  }
  bool leavesAlone(std::string_view text) const override { return text.empty(); }
  bool worksByLine() const override { return false; }

 private:
  std::string m_content;
};

class Replace final : public Normalizer {
 public:
  Replace(Regex pattern, std::string content) : m_pattern(std::move(pattern)), m_content(std::move(content)) {}
  Status apply(NormalizedText& normalized, RegexScratch& scratch) const override {
    if (m_content.empty() && normalized.atStart) {
      MILLRACE_TRY(const Regex::Match first, m_pattern.find(normalized.text, 0, scratch));
      if (first.found && first.begin == 0 && first.end > 0) normalized.atStart = false;
    }
    return replaceAll(normalized.text, normalized.given, m_pattern, m_content, scratch);
  }
  bool leavesAlone(std::string_view text) const override { return text.empty(); }
  bool worksByLine() const override { return false; }

 private:
  Regex m_pattern;
  std::string m_content;
};

/// A literal replaced by another: what SentencePiece-style files do to every space.
class ReplaceLiteral final : public Normalizer {
 public:
  ReplaceLiteral(std::string from, std::string to) : m_from(std::move(from)), m_to(std::move(to)) {}
  Status apply(NormalizedText& normalized, RegexScratch&) const override {
    std::string& text = normalized.text;
    if (m_to.empty() && text.starts_with(m_from)) normalized.atStart = false;
    std::string out;
    out.reserve(text.size() + text.size() / 2);
    std::size_t done = 0;
    for (std::size_t at = text.find(m_from); at != std::string::npos; at = text.find(m_from, done)) {
      out.append(text, done, at - done);
      out.append(m_to);
      MILLRACE_CHECK(checkGrowth(out.size(), normalized.given));
      done = at + m_from.size();
    }
    out.append(text, done);
    text = std::move(out);
    return {};
  }
  bool leavesAlone(std::string_view text) const override { return text.find(m_from) == std::string_view::npos; }
  bool worksByLine() const override { return m_from.find('\n') == std::string::npos; }

 private:
  std::string m_from;
  std::string m_to;
};

/// Bytes as the printable characters of the byte-level alphabet, as a normalizer.
class ByteLevelNormalizer final : public Normalizer {
 public:
  Status apply(NormalizedText& normalized, RegexScratch&) const override {
    std::string& text = normalized.text;
    std::string out;
    appendByteLevel(text, out);
    text = std::move(out);
    return {};
  }
  bool leavesAlone(std::string_view text) const override { return text.empty(); }
  bool worksByLine() const override { return true; }
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<std::unique_ptr<Normalizer>> parts) : m_parts(std::move(parts)) {}
  Status apply(NormalizedText& normalized, RegexScratch& scratch) const override {
    for (const auto& part : m_parts)
      if (!part->leavesAlone(normalized.text)) {
        MILLRACE_CHECK(part->apply(normalized, scratch));
        MILLRACE_CHECK(checkGrowth(normalized.text.size(), normalized.given));
      }
    return {};
  }
  bool leavesAlone(std::string_view text) const override {
    return std::all_of(m_parts.begin(), m_parts.end(), [&](const auto& part) { return part->leavesAlone(text); });
  }
  bool worksByLine() const override {
    return std::all_of(m_parts.begin(), m_parts.end(), [](const auto& part) { return part->worksByLine(); });
  }

 private:
  std::vector<std::unique_ptr<Normalizer>> m_parts;
};

Result<std::unique_ptr<Normalizer>> makeUnicodeForm(const std::string& type) {
  UErrorCode code = U_ZERO_ERROR;
  const icu::Normalizer2* form = type == "NFC"    ? icu::Normalizer2::getNFCInstance(code)
                                 : type == "NFD"  ? icu::Normalizer2::getNFDInstance(code)
                                 : type == "NFKC" ? icu::Normalizer2::getNFKCInstance(code)
                                                  : icu::Normalizer2::getNFKDInstance(code);
  if (U_FAILURE(code)) return failed(fmt::format("ICU has no data for {}: {}", type, u_errorName(code)));
  auto known = std::make_unique<icu::UnicodeSet>(icu::UnicodeString::fromUTF8("[:age=9.0:]"), code);
  if (U_FAILURE(code)) return failed(fmt::format("ICU has no ages of characters: {}", u_errorName(code)));
  known->freeze();
  return std::make_unique<UnicodeForm>(form, std::move(known));
}

} // namespace

Result<std::unique_ptr<Normalizer>> makeNormalizer(const Json& description, const std::string& where) {
  if (description.is_null()) return nullptr;
  MILLRACE_TRY(const std::string type, componentType(description, where));
  JsonReader reader(description, where, "");
  reader.ignore("type");
  std::unique_ptr<Normalizer> made;
  if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    MILLRACE_TRY(made, makeUnicodeForm(type));
  } else if (type == "Lowercase") {
    made = std::make_unique<Lowercase>();
  } else if (type == "Strip") {
    const bool left = reader.boolean("strip_left", true);
    made = std::make_unique<Strip>(left, reader.boolean("strip_right", true));
  } else if (type == "StripAccents") {
    made = std::make_unique<StripAccents>();
  } else if (type == "Prepend") {
    made = std::make_unique<Prepend>(reader.text("prepend", ""));
  } else if (type == "ByteLevel") {
    made = std::make_unique<ByteLevelNormalizer>();
  } else if (type == "Replace") {
    const Json& pattern = reader.value("pattern");
    const std::string content = reader.text("content", "");
    if (pattern.is_object() && pattern.size() == 1 && pattern.contains("String") && pattern["String"].is_string() &&
        !pattern["String"].get_ref<const std::string&>().empty()) {
      made = std::make_unique<ReplaceLiteral>(pattern["String"].get<std::string>(), content);
    } else {
      MILLRACE_TRY(Regex regex, makePattern(pattern, where));
      made = std::make_unique<Replace>(std::move(regex), content);
    }
  } else if (type == "Sequence") {
    std::vector<std::unique_ptr<Normalizer>> parts;
    const Json& list = reader.value("normalizers");
    if (!list.is_array()) return badInput(fmt::format("{}.normalizers: expected a list", where));
    for (std::size_t i = 0; i < list.size(); ++i) {
      MILLRACE_TRY(auto part, makeNormalizer(list[i], fmt::format("{}.normalizers[{}]", where, i)));
      if (part) parts.push_back(std::move(part));
    }
    made = std::make_unique<NormalizerSequence>(std::move(parts));
  } else {
    return unsupportedComponent(where, description,
                                {"NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Prepend",
                                 "Replace", "ByteLevel", "Sequence"});
  }
  MILLRACE_CHECK(reader.finish());
  return made;
}

} // namespace millrace
