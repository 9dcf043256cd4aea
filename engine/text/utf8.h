// UTF-8: checking, reading and repairing it. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace millrace {

/// What stands at one position of a byte string.
struct Utf8Step {
  enum class Kind {
    Character,  ///< a whole, valid character of `length` bytes
    Invalid,    ///< `length` bytes that no character starts with (Unicode's maximal subpart)
    Incomplete, ///< the text ends inside a character that is valid so far
  };
  Kind kind = Kind::Invalid;
  int length = 0;
  char32_t code = 0; ///< for Character
};

/// Looks at text[at...]; at < text.size().
Utf8Step stepUtf8(std::string_view text, std::size_t at);

bool isValidUtf8(std::string_view text);

/// Appends the text with U+FFFD for each invalid or incomplete sequence; returns how many there were.
std::int64_t appendRepairedUtf8(std::string_view text, std::string& out);

/// How many bytes at the end (0 to 3) begin a character that further bytes could complete.
std::size_t incompleteUtf8Tail(std::string_view text);

void appendUtf8(char32_t code, std::string& out);

/// Length of the character that starts with this byte, in text known to be valid.
inline int utf8Length(unsigned char first) {
  return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/// The character at p, in text known to be valid, of utf8Length(*p) bytes.
inline char32_t readUtf8(const char* p, int length) {
  const auto byte = [p](int i) { return static_cast<char32_t>(static_cast<unsigned char>(p[i])); };
  switch (length) {
  case 1:
    return byte(0);
  case 2:
    return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
  case 3:
    return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
  default:
    return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
}

} // namespace millrace
