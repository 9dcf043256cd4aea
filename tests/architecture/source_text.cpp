#include "architecture/source_text.h"

#include <cctype>

namespace millrace {

namespace {

bool isWord(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Whether an apostrophe at the position separates digits: the token that it stands in begins with a digit.
bool separatesDigits(std::string_view text, std::size_t position) {
  std::size_t begin = position;
  while (begin > 0 && (isWord(text[begin - 1]) || text[begin - 1] == '\'')) --begin;
  return begin < position && std::isdigit(static_cast<unsigned char>(text[begin]));
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : m_text(text) {}

  SourceText scan() {
    while (m_at < m_text.size()) {
      if (starts("//"))
        comment("\n", false);
      else if (starts("/*"))
        comment("*/", true);
      else if (m_text[m_at] == '"' && m_at > 0 && m_text[m_at - 1] == 'R')
        rawString();
      else if (m_text[m_at] == '"' || (m_text[m_at] == '\'' && !separatesDigits(m_text, m_at)))
        literal(m_text[m_at]);
      else
        emit(Kind::Code);
    }
    return std::move(m_result);
  }

 private:
  enum class Kind { Code, Literal, Comment };

  bool starts(std::string_view what) const { return m_text.substr(m_at, what.size()) == what; }

  /// Takes the next character over; line ends stay in every kind.
  void emit(Kind kind) {
    const char c = m_text[m_at++];
    m_result.withoutComments += kind == Kind::Comment && c != '\n' ? ' ' : c;
    m_result.codeOnly += kind != Kind::Code && c != '\n' ? ' ' : c;
  }

  void comment(std::string_view end, bool takeEnd) {
    while (m_at < m_text.size() && !starts(end)) emit(Kind::Comment);
    for (std::size_t i = 0; takeEnd && i < end.size() && m_at < m_text.size(); ++i) emit(Kind::Comment);
  }

  void literal(char quote) {
    emit(Kind::Code);
    while (m_at < m_text.size() && m_text[m_at] != quote && m_text[m_at] != '\n') {
      if (m_text[m_at] == '\\' && m_at + 1 < m_text.size()) emit(Kind::Literal);
      emit(Kind::Literal);
    }
    if (m_at < m_text.size()) emit(Kind::Code);
  }

  void rawString() {
    const std::size_t open = m_text.find('(', m_at);
    if (open == std::string_view::npos) return emit(Kind::Code);
    const std::string end = ")" + std::string(m_text.substr(m_at + 1, open - m_at - 1)) + "\"";
    while (m_at < m_text.size() && !starts(end)) emit(Kind::Literal);
    for (std::size_t i = 0; i < end.size() && m_at < m_text.size(); ++i) emit(Kind::Literal);
  }

  std::string_view m_text;
  std::size_t m_at = 0;
  SourceText m_result;
};

} // namespace

SourceText readSourceText(std::string_view text) {
  return Scanner(text).scan();
}

} // namespace millrace
