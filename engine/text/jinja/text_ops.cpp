#include "text/jinja/text_ops.h"

#include "text/jinja/text_classes.h"
#include "text/utf8.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <unicode/locid.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

namespace millrace::jinja {

namespace {

UChar32 point(char32_t code) {
  return static_cast<UChar32>(code);
}

template <class Function>
void forEachCharacter(std::string_view text, const Function& function) {
  for (std::size_t at = 0; at < text.size();) {
    const int length = utf8Length(static_cast<unsigned char>(text[at]));
    function(readUtf8(text.data() + at, length), text.substr(at, static_cast<std::size_t>(length)));
    at += static_cast<std::size_t>(length);
  }
}

icu::UnicodeString toIcu(std::string_view text) {
  return icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
}

std::string fromIcu(const icu::UnicodeString& text) {
  std::string utf8;
  text.toUTF8String(utf8);
  return utf8;
}

std::string titled(std::string_view character) {
  icu::UnicodeString text = toIcu(character);
  return fromIcu(text.toTitle(nullptr, icu::Locale::getRoot()));
}

bool isCased(char32_t code) {
  return u_hasBinaryProperty(point(code), UCHAR_CASED) != 0;
}

} // namespace

bool isPythonSpace(char32_t code) {
  if (code < 0x80) return code == ' ' || (code >= 0x09 && code <= 0x0D) || (code >= 0x1C && code <= 0x1F);
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool isPrintable(char32_t code) {
  if (code < 0x80) return code >= 0x20 && code < 0x7F;
  return (U_MASK(u_charType(point(code))) & (U_GC_C_MASK | U_GC_Z_MASK)) == 0;
}

bool isIdentifierCharacter(char32_t code, bool first) {
  if (code == U'_') return true;
  return u_hasBinaryProperty(point(code), first ? UCHAR_XID_START : UCHAR_XID_CONTINUE) != 0;
}

std::int64_t codePoints(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::size_t byteOfCodePoint(std::string_view text, std::int64_t n) {
  std::size_t at = 0;
  for (; n > 0 && at < text.size(); --n)
    at += static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(text[at])));
  return std::min(at, text.size());
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> list;
  forEachCharacter(text, [&](char32_t, std::string_view character) { list.push_back(character); });
  return list;
}

std::string_view stripLeft(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const int length = utf8Length(static_cast<unsigned char>(text[at]));
    if (!isPythonSpace(readUtf8(text.data() + at, length))) break;
    at += static_cast<std::size_t>(length);
  }
  return text.substr(at);
}

namespace {
/// Where the last character begins.
std::size_t lastCharacter(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}
} // namespace

std::string_view stripRight(std::string_view text) {
  while (!text.empty()) {
    const std::size_t at = lastCharacter(text);
    if (!isPythonSpace(readUtf8(text.data() + at, static_cast<int>(text.size() - at)))) break;
    text = text.substr(0, at);
  }
  return text;
}

std::string_view strip(std::string_view text, std::string_view set, bool left, bool right) {
  const std::vector<std::string_view> members = characters(set);
  const auto inSet = [&](std::string_view character) {
    return std::find(members.begin(), members.end(), character) != members.end();
  };
  while (left && !text.empty()) {
    const auto length = static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(text[0])));
    if (!inSet(text.substr(0, length))) break;
    text = text.substr(length);
  }
  while (right && !text.empty()) {
    const std::size_t at = lastCharacter(text);
    if (!inSet(text.substr(at))) break;
    text = text.substr(0, at);
  }
  return text;
}

std::size_t findText(std::string_view text, std::string_view what, std::size_t from) {
  if (from > text.size()) return std::string_view::npos;
  if (what.empty()) return from;
  // std::string_view::find takes time in the product of both lengths for texts made for it; memmem does not.
  const void* hit = ::memmem(text.data() + from, text.size() - from, what.data(), what.size());
  return hit == nullptr ? std::string_view::npos
                        : static_cast<std::size_t>(static_cast<const char*>(hit) - text.data());
}

std::size_t findLastText(std::string_view text, std::string_view what) {
  // Turned round, the last place is the first one.
  const std::string backwards(text.rbegin(), text.rend());
  const std::size_t hit = findText(backwards, std::string(what.rbegin(), what.rend()), 0);
  return hit == std::string_view::npos ? hit : text.size() - hit - what.size();
}

std::vector<std::string_view> splitLines(std::string_view text, bool keepEnds) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const int length = utf8Length(static_cast<unsigned char>(text[at]));
    const char32_t code = readUtf8(text.data() + at, length);
    std::size_t behind = at + static_cast<std::size_t>(length);
    const bool ends = (code >= 0x0A && code <= 0x0D) || (code >= 0x1C && code <= 0x1E) || code == 0x85 ||
                      code == 0x2028 || code == 0x2029;
    if (ends) {
      if (code == U'\r' && behind < text.size() && text[behind] == '\n') ++behind;
      lines.push_back(text.substr(begin, (keepEnds ? behind : at) - begin));
      begin = behind;
    }
    at = behind;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::string upperCase(std::string_view text) {
  std::string result(text);
  if (isAscii(text)) {
    for (char& c : result)
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 32);
    return result;
  }
  icu::UnicodeString wide = toIcu(text);
  return fromIcu(wide.toUpper(icu::Locale::getRoot()));
}

std::string lowerCase(std::string_view text) {
  std::string result(text);
  if (isAscii(text)) {
    for (char& c : result)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    return result;
  }
  icu::UnicodeString wide = toIcu(text);
  return fromIcu(wide.toLower(icu::Locale::getRoot()));
}

std::string caseFold(std::string_view text) {
  icu::UnicodeString wide = toIcu(text);
  return fromIcu(wide.foldCase());
}

std::string capitalized(std::string_view text) {
  if (text.empty()) return {};
  const auto length = static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(text[0])));
  return titled(text.substr(0, length)) + lowerCase(text.substr(length));
}

std::string titleCase(std::string_view text) {
  std::string result;
  bool insideWord = false;
  forEachCharacter(text, [&](char32_t code, std::string_view character) {
    result += insideWord ? lowerCase(character) : titled(character);
    insideWord = isCased(code);
  });
  return result;
}

std::string swapCase(std::string_view text) {
  std::string result;
  forEachCharacter(text, [&](char32_t code, std::string_view character) {
    if (u_hasBinaryProperty(point(code), UCHAR_UPPERCASE) != 0)
      result += lowerCase(character);
    else if (u_hasBinaryProperty(point(code), UCHAR_LOWERCASE) != 0)
      result += upperCase(character);
    else
      result += character;
  });
  return result;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to, std::int64_t count) {
  std::string result;
  std::size_t at = 0;
  if (from.empty()) {
    std::int64_t done = 0;
    for (; count < 0 || done < count; ++done) {
      result += to;
      if (at >= text.size()) return result;
      const auto length = static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(text[at])));
      result += text.substr(at, length);
      at += length;
    }
    return result.append(text.substr(at));
  }
  for (std::int64_t done = 0; count < 0 || done < count; ++done) {
    const std::size_t hit = findText(text, from, at);
    if (hit == std::string_view::npos) break;
    result.append(text, at, hit - at).append(to);
    at = hit + from.size();
  }
  return result.append(text.substr(at));
}

std::string inQuotes(std::string_view text) {
  const char quote = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string result(1, quote);
  forEachCharacter(text, [&](char32_t code, std::string_view character) {
    const auto number = static_cast<unsigned>(code);
    if (code == U'\\' || code == static_cast<char32_t>(quote))
      (result += '\\') += character;
    else if (code == U'\n')
      result += "\\n";
    else if (code == U'\r')
      result += "\\r";
    else if (code == U'\t')
      result += "\\t";
    else if (isPrintable(code))
      result += character;
    else
      result += number <= 0xFF     ? fmt::format("\\x{:02x}", number)
                : number <= 0xFFFF ? fmt::format("\\u{:04x}", number)
                                   : fmt::format("\\U{:08x}", number);
  });
  return result += quote;
}

} // namespace millrace::jinja
