#include "text/jinja/text_classes.h"

#include "text/jinja/operators.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

#include <algorithm>
#include <unicode/uchar.h>

namespace millrace::jinja {

namespace {

UChar32 codePoint(char32_t code) {
  return static_cast<UChar32>(code);
}

/// Whether the text has characters and the property holds for each.
template <class Property>
bool all(std::string_view text, const Property& property) {
  if (text.empty()) return false;
  for (std::size_t at = 0; at < text.size();) {
    const int length = utf8Length(static_cast<unsigned char>(text[at]));
    if (!property(readUtf8(text.data() + at, length))) return false;
    at += static_cast<std::size_t>(length);
  }
  return true;
}

bool isLetter(char32_t code) {
  return (U_MASK(u_charType(codePoint(code))) & U_GC_L_MASK) != 0;
}
int numericType(char32_t code) {
  return u_getIntPropertyValue(codePoint(code), UCHAR_NUMERIC_TYPE);
}
bool isDecimalDigit(char32_t code) {
  return numericType(code) == U_NT_DECIMAL;
}
bool isAnyDigit(char32_t code) {
  return isDecimalDigit(code) || numericType(code) == U_NT_DIGIT;
}
bool hasNumericValue(char32_t code) {
  return numericType(code) != U_NT_NONE;
}
bool isUpperCharacter(char32_t code) {
  return u_hasBinaryProperty(codePoint(code), UCHAR_UPPERCASE) != 0;
}
bool isLowerCharacter(char32_t code) {
  return u_hasBinaryProperty(codePoint(code), UCHAR_LOWERCASE) != 0;
}
bool isTitleCharacter(char32_t code) {
  return u_charType(codePoint(code)) == U_TITLECASE_LETTER;
}

/// All cased characters are of one kind, and there are some.
template <class Wanted, class Other>
bool allCased(std::string_view text, const Wanted& wanted, const Other& other) {
  bool seen = false;
  const bool none = all(text, [&](char32_t code) {
    if (other(code) || isTitleCharacter(code)) return false;
    seen = seen || wanted(code);
    return true;
  });
  return none && seen;
}

} // namespace

bool isAlpha(std::string_view text) {
  return all(text, isLetter);
}
bool isAlnum(std::string_view text) {
  return all(text, [](char32_t code) { return isLetter(code) || hasNumericValue(code); });
}
bool isDigitText(std::string_view text) {
  return all(text, isAnyDigit);
}
bool isDecimal(std::string_view text) {
  return all(text, isDecimalDigit);
}
bool isNumericText(std::string_view text) {
  return all(text, hasNumericValue);
}
bool isSpace(std::string_view text) {
  return all(text, isPythonSpace);
}
bool isUpper(std::string_view text) {
  return allCased(text, isUpperCharacter, isLowerCharacter);
}
bool isLower(std::string_view text) {
  return allCased(text, isLowerCharacter, isUpperCharacter);
}
bool isAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}
bool isIdentifier(std::string_view text) {
  bool first = true;
  return all(text, [&](char32_t code) { return isIdentifierCharacter(code, std::exchange(first, false)); });
}
bool isPrintableText(std::string_view text) {
  return text.empty() || all(text, isPrintable);
}

bool isTitle(std::string_view text) {
  bool insideWord = false;
  bool seen = false;
  const bool sound = all(text, [&](char32_t code) {
    const bool opens = isUpperCharacter(code) || isTitleCharacter(code);
    const bool goesOn = isLowerCharacter(code);
    if ((opens && insideWord) || (goesOn && !insideWord)) return false;
    insideWord = opens || goesOn;
    seen = seen || insideWord;
    return true;
  });
  return sound && seen;
}

std::string justifiedText(Heap& heap, std::string_view text, std::int64_t width, std::string_view fill, char where) {
  const std::int64_t missing = width - codePoints(text);
  if (missing <= 0) return std::string(text);
  heap.charge(static_cast<std::int64_t>(
      std::min<std::uint64_t>(static_cast<std::uint64_t>(missing) * fill.size(), INT64_MAX / 2)));
  // Where the space cannot be shared evenly, Python's str.center looks at the width.
  const std::int64_t left = where == '<' ? 0 : where == '>' ? missing : missing / 2 + (missing & width & 1);
  std::string result;
  for (std::int64_t i = 0; i < left; ++i) result += fill;
  result += text;
  for (std::int64_t i = left; i < missing; ++i) result += fill;
  return result;
}

Value replaceText(Heap& heap, const Value& text, const Value& from, const Value& to, std::int64_t count) {
  const Value old = text.markup ? escaped(heap, from) : from;
  const Value fresh = text.markup ? escaped(heap, to) : to;
  // At most so many places, each of which may grow.
  const auto size = static_cast<std::int64_t>(text.text().size());
  std::int64_t places = 0;
  if (fresh.text().size() > old.text().size()) {
    if (old.text().empty())
      places = codePoints(text.text()) + 1;
    else
      for (std::size_t at = 0; (at = findText(text.text(), old.text(), at)) != std::string_view::npos;
           at += old.text().size())
        ++places;
    if (count >= 0) places = std::min(places, count);
  }
  heap.charge(size + places * static_cast<std::int64_t>(fresh.text().size()));
  return heap.string(replaced(text.text(), old.text(), fresh.text(), count), text.markup);
}

} // namespace millrace::jinja
