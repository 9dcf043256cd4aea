#include "text/utf8.h"

#include <algorithm>
#include <cstring>

namespace millrace {

namespace {
constexpr std::string_view replacement = "\xEF\xBF\xBD"; // U+FFFD

/// First position at or after `at` whose byte is not ASCII.
std::size_t skipAscii(std::string_view text, std::size_t at) {
  while (at + 8 <= text.size()) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, 8);
    if ((word & 0x8080808080808080u) != 0) break;
    at += 8;
  }
  while (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) ++at;
  return at;
}
} // namespace

Utf8Step stepUtf8(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  const std::size_t left = text.size() - at;
  const unsigned char first = byte(0);
  if (first < 0x80) return {Utf8Step::Kind::Character, 1, first};
  if (first < 0xC2 || first > 0xF4) return {Utf8Step::Kind::Invalid, 1, 0};

  // The second byte's range depends on the first: no overlong forms, no surrogates, nothing above U+10FFFF.
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
  if (first == 0xE0) low = 0xA0;
  if (first == 0xED) high = 0x9F;
  if (first == 0xF0) low = 0x90;
  if (first == 0xF4) high = 0x8F;
  const int length = utf8Length(first);
  for (int i = 1; i < length; ++i) {
    if (static_cast<std::size_t>(i) >= left) return {Utf8Step::Kind::Incomplete, i, 0};
    const unsigned char next = byte(static_cast<std::size_t>(i));
    if (next < low || next > high) return {Utf8Step::Kind::Invalid, i, 0};
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Step::Kind::Character, length, readUtf8(text.data() + at, length)};
}

bool isValidUtf8(std::string_view text) {
  for (std::size_t at = skipAscii(text, 0); at < text.size();) {
    const Utf8Step step = stepUtf8(text, at);
    if (step.kind != Utf8Step::Kind::Character) return false;
    at += static_cast<std::size_t>(step.length);
    if (at < text.size() && static_cast<unsigned char>(text[at]) < 0x80) at = skipAscii(text, at);
  }
  return true;
}

std::int64_t appendRepairedUtf8(std::string_view text, std::string& out) {
  std::int64_t repaired = 0;
  std::size_t good = 0; // start of the valid stretch not yet appended
  for (std::size_t at = skipAscii(text, 0); at < text.size();) {
    const Utf8Step step = stepUtf8(text, at);
    if (step.kind != Utf8Step::Kind::Character) {
      out.append(text.substr(good, at - good));
      out.append(replacement);
      ++repaired;
      good = at + static_cast<std::size_t>(step.length);
    }
    at = skipAscii(text, at + static_cast<std::size_t>(step.length));
  }
  out.append(text.substr(std::min(good, text.size())));
  return repaired;
}

std::size_t incompleteUtf8Tail(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte >= 0xC0) return stepUtf8(text, text.size() - back).kind == Utf8Step::Kind::Incomplete ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

void appendUtf8(char32_t code, std::string& out) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(static_cast<unsigned char>(byte))); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

} // namespace millrace
