#include "data/json_elements.h"

namespace millrace {

namespace {
bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
} // namespace

void JsonElements::begin() {
  m_state = State::Inside;
  m_elementLine = m_line;
  m_depth = 0;
  m_text.clear();
  m_tooLong = false;
}

void JsonElements::append(std::string_view part) {
  if (m_tooLong) return;
  if (part.size() > m_limit - m_text.size()) {
    m_tooLong = true;
    m_text.clear();
    return;
  }
  m_text += part;
}

JsonElements::Event JsonElements::next(std::string_view& bytes) {
  if (m_state == State::Complete) m_state = State::Between;
  std::size_t from = 0; // of what is not yet appended
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char c = bytes[at];
    if (c == '\n') ++m_line;
    if (m_state == State::BeforeList) {
      if (c == '[') m_state = State::Between;
      continue;
    }
    if (m_state == State::Between) {
      if (isSpace(c) || c == ',') continue;
      if (c == ']') {
        bytes.remove_prefix(at + 1);
        return Event::End;
      }
      begin();
      from = at;
    }
    if (m_inString) {
      if (m_escaped)
        m_escaped = false;
      else if (c == '\\')
        m_escaped = true;
      else if (c == '"')
        m_inString = false;
      continue;
    }
    if (c == '"') {
      m_inString = true;
    } else if (c == '[' || c == '{') {
      ++m_depth;
    } else if (m_depth > 0 && (c == ']' || c == '}')) {
      --m_depth;
    } else if (m_depth == 0 && (c == ',' || c == ']')) {
      append(bytes.substr(from, at - from));
      while (!m_text.empty() && isSpace(m_text.back())) m_text.pop_back();
      bytes.remove_prefix(at); // the comma or bracket is looked at again
      m_state = State::Complete;
      return Event::Element;
    }
  }
  if (m_state == State::Inside) append(bytes.substr(from));
  bytes = {};
  return Event::NeedsMore;
}

} // namespace millrace
