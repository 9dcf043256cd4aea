// Character properties as the tokenizer formats use them. Immutable, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

/// The partition that byte-level split patterns are written in: \p{L}, \p{N}, \s, and everything else.
enum class CharKind : std::uint8_t { Other, Letter, Number, Space };

/// CharKind of every code point in two stages: ASCII in one row, the rest in shared blocks of 256.
class CharKindTable {
 public:
  /// Built once from ICU's data; the one instance is immutable.
  static const CharKindTable& instance();

  CharKind operator[](char32_t code) const {
    return static_cast<CharKind>(m_blocks[m_blockOf[code >> 8] * std::size_t{256} + (code & 0xFF)]);
  }
  CharKind ascii(unsigned char byte) const { return static_cast<CharKind>(m_blocks[byte]); }

 private:
  CharKindTable();
  std::array<std::uint16_t, 0x1100> m_blockOf = {};
  std::vector<std::uint8_t> m_blocks; ///< the first is U+0000 to U+00FF
};

bool isWhiteSpace(char32_t code); ///< property White_Space
bool isNumeric(char32_t code);    ///< categories Nd, Nl, No
/// Categories P* as of Unicode 8, which is what Hugging Face's table knows, and every ASCII mark.
bool isPunctuation(char32_t code);
bool isMark(char32_t code); ///< categories M* as of Unicode 9, for the same reason
/// What \w means: alphabetic, marks, decimal digits, connectors, joiners.
bool isWordCharacter(char32_t code);

/// Appends the full lower-case mapping of one character, free of context.
void appendLowerCase(char32_t code, std::string& out);

} // namespace millrace
