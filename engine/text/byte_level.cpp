#include "text/byte_level.h"

#include "text/utf8.h"

#include <array>

namespace millrace {

namespace {

struct Alphabet {
  std::array<char32_t, 256> characters = {};
  std::array<int, 0x180> bytes = {}; ///< by character; -1: none

  constexpr Alphabet() {
    for (int& byte : bytes) byte = -1;
    char32_t spare = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printable =
          (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
      characters[byte] = printable ? byte : spare++;
      bytes[characters[byte]] = static_cast<int>(byte);
    }
  }
};
constexpr Alphabet alphabet;

} // namespace

char32_t byteLevelCharacter(unsigned char byte) {
  return alphabet.characters[byte];
}

std::optional<unsigned char> byteLevelByte(char32_t code) {
  if (code >= alphabet.bytes.size() || alphabet.bytes[code] < 0) return std::nullopt;
  return static_cast<unsigned char>(alphabet.bytes[code]);
}

void appendByteLevel(std::string_view text, std::string& out) {
  out.reserve(out.size() + text.size() * 2);
  for (const char c : text) appendUtf8(byteLevelCharacter(static_cast<unsigned char>(c)), out);
}

std::optional<std::string> byteLevelBytes(std::string_view token) {
  std::string bytes;
  for (std::size_t at = 0; at < token.size();) {
    const int length = utf8Length(static_cast<unsigned char>(token[at]));
    const auto byte = byteLevelByte(readUtf8(token.data() + at, length));
    if (!byte) return std::nullopt;
    bytes.push_back(static_cast<char>(*byte));
    at += static_cast<std::size_t>(length);
  }
  return bytes;
}

} // namespace millrace
