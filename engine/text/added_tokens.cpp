#include "text/added_tokens.h"

#include "text/unicode.h"
#include "text/utf8.h"

#include <algorithm>
#include <cstring>

namespace millrace {

namespace {

/// Start of the last character of text[0, end).
std::size_t lastCharacter(std::string_view text, std::size_t end) {
  std::size_t at = end - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

char32_t characterAt(std::string_view text, std::size_t at) {
  return readUtf8(text.data() + at, utf8Length(static_cast<unsigned char>(text[at])));
}

} // namespace

void AddedTokenFinder::add(const AddedToken& token, std::string_view as) {
  if (as.empty()) return;
  m_patterns.insert_or_assign(std::string(as), token);
  const auto first = static_cast<unsigned char>(as[0]);
  std::vector<std::size_t>& lengths = m_lengths[first];
  if (lengths.empty()) m_firstBytes.push_back(first);
  const auto place = std::lower_bound(lengths.begin(), lengths.end(), as.size(), std::greater<>());
  if (place == lengths.end() || *place != as.size()) lengths.insert(place, as.size());
}

AddedTokenFinder::Hit AddedTokenFinder::find(std::string_view text, std::size_t from) const {
  while (from < text.size()) {
    if (m_firstBytes.size() == 1) {
      const void* hit = std::memchr(text.data() + from, m_firstBytes[0], text.size() - from);
      if (hit == nullptr) break;
      from = static_cast<std::size_t>(static_cast<const char*>(hit) - text.data());
    } else {
      while (from < text.size() && m_lengths[static_cast<unsigned char>(text[from])].empty()) ++from;
      if (from == text.size()) break;
    }
    for (const std::size_t length : m_lengths[static_cast<unsigned char>(text[from])]) {
      if (length > text.size() - from) continue;
      const auto pattern = m_patterns.find(text.substr(from, length));
      if (pattern != m_patterns.end()) return {&pattern->second, from, from + length};
    }
    ++from;
  }
  return {};
}

void AddedTokenFinder::cut(std::string_view text, std::vector<TextSection>& sections) const {
  std::size_t done = 0; // behind the last token's section
  std::size_t from = 0; // behind the last token itself
  while (!empty()) {
    const Hit hit = find(text, from);
    if (hit.token == nullptr) break;
    from = hit.end;
    if (hit.token->singleWord) {
      const bool wordBefore = hit.begin > 0 && isWordCharacter(characterAt(text, lastCharacter(text, hit.begin)));
      const bool wordBehind = hit.end < text.size() && isWordCharacter(characterAt(text, hit.end));
      if (wordBefore || wordBehind) continue;
    }
    std::size_t begin = hit.begin;
    std::size_t end = hit.end;
    if (hit.token->lstrip) {
      while (begin > 0) {
        const std::size_t last = lastCharacter(text, begin);
        if (!isWhiteSpace(characterAt(text, last))) break;
        begin = last;
      }
      begin = std::max(begin, done);
    }
    while (hit.token->rstrip && end < text.size() && isWhiteSpace(characterAt(text, end)))
      end += static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(text[end])));
    if (done < begin) sections.push_back({-1, done, begin});
    sections.push_back({hit.token->id, begin, end});
    done = end;
  }
  if (done < text.size()) sections.push_back({-1, done, text.size()});
}

} // namespace millrace
