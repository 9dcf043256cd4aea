#include "text/jinja/string_literal.h"

#include "text/jinja/fault.h"
#include "text/utf8.h"

#include <fmt/format.h>

namespace millrace::jinja {

namespace {

int hexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// Reads exactly so many hexadecimal digits at `at`.
char32_t hexadecimal(std::string_view inside, std::size_t at, int digits, const char* what, int line) {
  char32_t code = 0;
  for (int i = 0; i < digits; ++i) {
    const std::size_t place = at + static_cast<std::size_t>(i);
    const int value = place < inside.size() ? hexValue(inside[place]) : -1;
    if (value < 0) syntaxError(fmt::format("truncated {} escape", what), line);
    code = code << 4 | static_cast<char32_t>(value);
  }
  if (code > 0x10FFFF) syntaxError("illegal Unicode character", line);
  if (code >= 0xD800 && code <= 0xDFFF)
    syntaxError(
        fmt::format("'{:04x}' is half of a surrogate pair; write the character itself", static_cast<unsigned>(code)),
        line);
  return code;
}

} // namespace

std::string unescapedLiteral(std::string_view inside, int line) {
  if (inside.find('\\') == std::string_view::npos) return std::string(inside);
  std::string text;
  for (std::size_t i = 0; i < inside.size(); ++i) {
    if (inside[i] != '\\') {
      text += inside[i];
      continue;
    }
    if (++i == inside.size()) syntaxError("\\ at end of string", line);
    const char c = inside[i];
    switch (c) {
    case '\n':
      break; // the line goes on
    case '\\':
    case '\'':
    case '"':
      text += c;
      break;
    case 'a':
      text += '\a';
      break;
    case 'b':
      text += '\b';
      break;
    case 'f':
      text += '\f';
      break;
    case 'n':
      text += '\n';
      break;
    case 'r':
      text += '\r';
      break;
    case 't':
      text += '\t';
      break;
    case 'v':
      text += '\v';
      break;
    case 'x':
      appendUtf8(hexadecimal(inside, i + 1, 2, "\\xXX", line), text);
      i += 2;
      break;
    case 'u':
      appendUtf8(hexadecimal(inside, i + 1, 4, "\\uXXXX", line), text);
      i += 4;
      break;
    case 'U':
      appendUtf8(hexadecimal(inside, i + 1, 8, "\\UXXXXXXXX", line), text);
      i += 8;
      break;
    case 'N':
      syntaxError("characters by name (\\N{...}) are not supported; write the character itself", line);
    default:
      if (c >= '0' && c <= '7') {
        char32_t code = 0;
        std::size_t end = i;
        while (end < inside.size() && end < i + 3 && inside[end] >= '0' && inside[end] <= '7')
          code = code << 3 | static_cast<char32_t>(inside[end++] - '0');
        appendUtf8(code, text);
        i = end - 1;
      } else if (static_cast<unsigned char>(c) >= 0x80) {
        // The reference spells the character out as an escape before it looks for escapes, and then finds "\\" here.
        const int length = utf8Length(static_cast<unsigned char>(c));
        const auto code = static_cast<unsigned>(readUtf8(inside.data() + i, length));
        text += code <= 0xFF     ? fmt::format("\\x{:02x}", code)
                : code <= 0xFFFF ? fmt::format("\\u{:04x}", code)
                                 : fmt::format("\\U{:08x}", code);
        i += static_cast<std::size_t>(length) - 1;
      } else {
        text += '\\';
        text += c;
      }
    }
  }
  return text;
}

} // namespace millrace::jinja
