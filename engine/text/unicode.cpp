#include "text/unicode.h"

#include "text/utf8.h"

#include <map>
#include <unicode/uchar.h>

namespace millrace {

namespace {
UChar32 icu(char32_t code) {
  return static_cast<UChar32>(code);
}

/// Whether the character was there in that version of Unicode.
bool isOfUnicode(char32_t code, std::uint8_t version) {
  UVersionInfo age;
  u_charAge(icu(code), age);
  return age[0] <= version;
}

CharKind kindOf(char32_t code) {
  if (isWhiteSpace(code)) return CharKind::Space;
  const auto mask = U_MASK(u_charType(icu(code)));
  if ((mask & U_GC_L_MASK) != 0) return CharKind::Letter;
  if ((mask & U_GC_N_MASK) != 0) return CharKind::Number;
  return CharKind::Other;
}
} // namespace

CharKindTable::CharKindTable() {
  using Block = std::array<std::uint8_t, 256>;
  std::map<Block, std::uint16_t> known;
  Block block{};
  for (char32_t high = 0; high < m_blockOf.size(); ++high) {
    for (char32_t low = 0; low < 256; ++low) block[low] = static_cast<std::uint8_t>(kindOf(high << 8 | low));
    const auto [entry, fresh] = known.emplace(block, static_cast<std::uint16_t>(known.size()));
    if (fresh) m_blocks.insert(m_blocks.end(), block.begin(), block.end());
    m_blockOf[high] = entry->second;
  }
}

const CharKindTable& CharKindTable::instance() {
  static const CharKindTable table;
  return table;
}

bool isWhiteSpace(char32_t code) {
  return u_isUWhiteSpace(icu(code)) != 0;
}

bool isNumeric(char32_t code) {
  return (U_MASK(u_charType(icu(code))) & U_GC_N_MASK) != 0;
}

bool isPunctuation(char32_t code) {
  if (code < 0x80) return code > 0x20 && code < 0x7F && u_isalnum(icu(code)) == 0;
  if (code == 0x166D || code == 0x111C9) return true; // were punctuation in Unicode 8
  return (U_MASK(u_charType(icu(code))) & U_GC_P_MASK) != 0 && isOfUnicode(code, 8);
}

bool isMark(char32_t code) {
  if (code == 0x1CF2 || code == 0x1CF3) return true; // were marks in Unicode 9
  if (code == 0x111C9) return false;                 // was none
  return (U_MASK(u_charType(icu(code))) & U_GC_M_MASK) != 0 && isOfUnicode(code, 9);
}

bool isWordCharacter(char32_t code) {
  const auto mask = U_MASK(u_charType(icu(code)));
  return u_isUAlphabetic(icu(code)) != 0 || (mask & (U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK)) != 0 ||
         code == 0x200C || code == 0x200D;
}

void appendLowerCase(char32_t code, std::string& out) {
  // The only character whose full lower-case form is longer than one, outside language-specific rules.
  if (code == 0x130) {
    out.append("i\xCC\x87");
    return;
  }
  appendUtf8(static_cast<char32_t>(u_tolower(icu(code))), out);
}

} // namespace millrace
