#include "api/stop_strings.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace millrace {

namespace {
constexpr std::size_t mostStrings = 64;
constexpr std::size_t longestString = 1024;
} // namespace

Result<StopStrings> StopStrings::create(std::vector<std::string> strings) {
  if (strings.size() > mostStrings)
    return badInput(fmt::format("there are {} stop texts, at most {} are possible", strings.size(), mostStrings));
  for (const std::string& text : strings) {
    if (text.empty()) return badInput("a stop text is empty; expected at least one character");
    if ((static_cast<unsigned char>(text.front()) & 0xC0u) == 0x80u)
      return badInput("a stop text begins in the middle of a character; expected UTF-8");
    if (text.size() > longestString)
      return badInput(fmt::format("a stop text has {} bytes, at most {} are possible", text.size(), longestString));
  }
  return StopStrings(std::move(strings));
}

std::string StopStrings::push(std::string_view piece) {
  if (m_found) return "";
  m_held += piece;
  std::size_t first = std::string::npos;
  for (const std::string& text : m_strings) first = std::min(first, m_held.find(text));
  // The longest end of what is held that a string may begin with; one that begins earlier than a string that is
  // complete could still turn out to be the first.
  std::size_t waiting = m_held.size();
  for (const std::string& text : m_strings) {
    const std::size_t most = std::min(text.size() - 1, m_held.size());
    for (std::size_t length = most; length > 0; --length)
      if (std::string_view(text).starts_with(std::string_view(m_held).substr(m_held.size() - length))) {
        waiting = std::min(waiting, m_held.size() - length);
        break;
      }
  }
  if (first != std::string::npos && first <= waiting) {
    m_found = true;
    return m_held.substr(0, first);
  }
  std::string certain = m_held.substr(0, waiting);
  m_held.erase(0, waiting);
  return certain;
}

std::string StopStrings::finish() {
  if (m_found) return "";
  std::size_t first = std::string::npos; // complete, but something that began earlier might have become the first
  for (const std::string& text : m_strings) first = std::min(first, m_held.find(text));
  m_found = first != std::string::npos;
  return std::exchange(m_held, std::string()).substr(0, first);
}

} // namespace millrace
