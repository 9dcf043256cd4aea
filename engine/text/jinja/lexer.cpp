#include "text/jinja/lexer.h"

#include "text/jinja/fault.h"
#include "text/jinja/string_literal.h"
#include "text/jinja/text_ops.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

/// Line ends become \n, and one at the very end is dropped.
std::string normalizedSource(std::string_view source) {
  std::string text;
  text.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      text += source[i];
      continue;
    }
    text += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : m_source(normalizedSource(source)), m_text(m_source) {}

  std::vector<Token> run() {
    while (m_at < m_text.size()) lexText();
    m_tokens.push_back({TokenKind::End, "", 0, 0, m_line});
    return std::move(m_tokens);
  }

 private:
  std::string_view rest() const { return m_text.substr(m_at); }
  bool startsWith(std::string_view what) const { return rest().starts_with(what); }
  char sign() const { return m_at < m_text.size() && (m_text[m_at] == '-' || m_text[m_at] == '+') ? m_text[m_at] : 0; }
  /// Moves on, counts lines, and remembers whether a line begins there.
  void skipTo(std::size_t end) {
    m_line += static_cast<int>(std::count(m_text.begin() + static_cast<std::ptrdiff_t>(m_at),
                                          m_text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    m_lineStarting = end > 0 && m_text[end - 1] == '\n';
    m_at = end;
  }
  std::size_t behindSpace(std::size_t at) const {
    while (at < m_text.size()) {
      const int length = utf8Length(static_cast<unsigned char>(m_text[at]));
      if (!isPythonSpace(readUtf8(m_text.data() + at, length))) break;
      at += static_cast<std::size_t>(length);
    }
    return at;
  }

  /// Text up to a tag whose sign is given; variable: the tag is {{, which leaves the line's indentation alone.
  void addData(std::string_view text, char tagSign, bool variable) {
    const int line = m_line;
    if (tagSign == '-') {
      text = stripRight(text);
    } else if (tagSign != '+' && !variable) {
      const std::size_t lineBegin = text.rfind('\n') + 1; // npos + 1 is 0
      if ((lineBegin > 0 || m_lineStarting) && stripRight(text.substr(lineBegin)).empty())
        text = text.substr(0, lineBegin);
    }
    if (!text.empty()) m_tokens.push_back({TokenKind::Data, std::string(text), 0, 0, line});
  }

  void lexText() {
    const std::size_t begin = m_at;
    std::size_t tag = begin;
    for (;; ++tag) {
      tag = m_text.find('{', tag);
      if (tag == std::string_view::npos || tag + 1 == m_text.size()) {
        m_tokens.push_back({TokenKind::Data, std::string(m_text.substr(begin)), 0, 0, m_line});
        skipTo(m_text.size());
        return;
      }
      const char next = m_text[tag + 1];
      if (next == '%' || next == '{' || next == '#') break;
    }
    const char kind = m_text[tag + 1];
    const std::string_view data = m_text.substr(begin, tag - begin);
    if (kind == '%' && lexRaw(data, tag)) return;
    m_at = tag + 2;
    const char tagSign = sign();
    m_at = begin;
    addData(data, tagSign, kind == '{');
    skipTo(tag + 2 + (tagSign != 0 ? 1 : 0));
    if (kind == '#')
      lexComment();
    else
      lexTag(kind == '{');
  }

  void lexComment() {
    for (std::size_t at = m_at; at < m_text.size(); ++at) {
      const std::string_view here = m_text.substr(at);
      if (here.starts_with("+#}")) return skipTo(at + 3);
      if (here.starts_with("-#}")) return skipTo(behindSpace(at + 3));
      if (here.starts_with("#}\n")) return skipTo(at + 3);
      if (here.starts_with("#}")) return skipTo(at + 2);
    }
    // An empty rest is no error: there is nothing left that could be a comment.
    if (m_at < m_text.size()) syntaxError("Missing end of comment tag", m_line);
  }

  /// Reads "{%- raw -%} ... {%- endraw -%}" at the tag; false when something else stands there.
  bool lexRaw(std::string_view before, std::size_t tag) {
    const std::size_t begin = m_at;
    m_at = tag + 2;
    const char rawSign = sign();
    std::size_t at = behindSpace(tag + 2 + (rawSign != 0 ? 1 : 0));
    m_at = begin;
    if (!m_text.substr(at).starts_with("raw")) return false;
    at = behindSpace(at + 3);
    if (m_text.substr(at).starts_with("-%}"))
      at = behindSpace(at + 3);
    else if (m_text.substr(at).starts_with("%}"))
      at += 2;
    else
      return false;
    addData(before, rawSign, false);
    skipTo(at);
    for (std::size_t end = m_at; end < m_text.size(); ++end) {
      end = m_text.find("{%", end);
      if (end == std::string_view::npos) break;
      std::size_t inside = end + 2;
      const char endSign =
          inside < m_text.size() && (m_text[inside] == '-' || m_text[inside] == '+') ? m_text[inside] : '\0';
      inside = behindSpace(inside + (endSign != 0 ? 1 : 0));
      if (!m_text.substr(inside).starts_with("endraw")) continue;
      inside = behindSpace(inside + 6);
      const std::string_view tail = m_text.substr(inside);
      std::size_t behind = 0;
      if (tail.starts_with("+%}"))
        behind = inside + 3;
      else if (tail.starts_with("-%}"))
        behind = behindSpace(inside + 3);
      else if (tail.starts_with("%}"))
        behind = inside + (tail.starts_with("%}\n") ? 3 : 2);
      else
        continue;
      addData(m_text.substr(m_at, end - m_at), endSign, false);
      skipTo(behind);
      return true;
    }
    if (m_at < m_text.size()) syntaxError("Missing end of raw directive", m_line);
    return true;
  }

  /// The end of the tag, if it stands here and no bracket is open.
  bool lexTagEnd(bool variable) {
    if (!m_brackets.empty()) return false;
    const std::string_view end = variable ? "}}" : "%}";
    std::size_t behind = 0;
    if (startsWith("-") && m_text.substr(m_at + 1).starts_with(end))
      behind = behindSpace(m_at + 3);
    else if (startsWith(end))
      behind = m_at + (!variable && startsWith("%}\n") ? 3 : 2);
    else if (!variable && startsWith("+%}"))
      behind = m_at + 3;
    else
      return false;
    m_tokens.push_back({variable ? TokenKind::VariableEnd : TokenKind::BlockEnd, "", 0, 0, m_line});
    skipTo(behind);
    return true;
  }

  void lexTag(bool variable) {
    m_tokens.push_back({variable ? TokenKind::VariableBegin : TokenKind::BlockBegin, "", 0, 0, m_line});
    while (m_at < m_text.size()) {
      if (lexTagEnd(variable)) return;
      if (const std::size_t behind = behindSpace(m_at); behind > m_at) {
        skipTo(behind);
        continue;
      }
      if (!lexNumber() && !lexName() && !lexString() && !lexOperator()) {
        const std::string_view here = rest();
        const std::string character(
            here.substr(0, static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(here[0])))));
        syntaxError(fmt::format("unexpected char {} at {}", inQuotes(character), codePoints(m_text.substr(0, m_at))),
                    m_line);
      }
    }
  }

  /// Behind "12_345" at `at`; `at` itself when no digit stands there. digit: which characters count.
  template <class IsDigit>
  std::size_t behindDigits(std::size_t at, const IsDigit& digit, bool leadingUnderscore) const {
    std::size_t end = at;
    for (;;) {
      std::size_t next = end;
      if ((end > at || leadingUnderscore) && next < m_text.size() && m_text[next] == '_') ++next;
      if (next >= m_text.size() || !digit(m_text[next])) return end;
      end = next + 1;
    }
  }

  bool lexNumber() {
    if (!isDigit(m_text[m_at])) return false;
    const std::size_t whole = behindDigits(m_at, isDigit, false);
    std::size_t end = whole;
    // "1.5", "1e5", "1.5e5"; not behind a dot, where "a.1.2" is two lookups.
    if (m_at == 0 || m_text[m_at - 1] != '.') {
      std::size_t fraction = whole;
      if (whole + 1 < m_text.size() && m_text[whole] == '.' && isDigit(m_text[whole + 1]))
        fraction = behindDigits(whole + 1, isDigit, false);
      std::size_t exponent = fraction;
      if (fraction < m_text.size() && (m_text[fraction] == 'e' || m_text[fraction] == 'E')) {
        std::size_t digits = fraction + 1;
        if (digits < m_text.size() && (m_text[digits] == '+' || m_text[digits] == '-')) ++digits;
        if (digits < m_text.size() && isDigit(m_text[digits])) exponent = behindDigits(digits, isDigit, false);
      }
      end = std::max(fraction, exponent);
    }
    if (end > whole) {
      addFloat(end);
      return true;
    }
    addInteger();
    return true;
  }

  static std::string withoutUnderscores(std::string_view text) {
    std::string digits(text);
    std::erase(digits, '_');
    return digits;
  }

  void addFloat(std::size_t end) {
    const std::string digits = withoutUnderscores(m_text.substr(m_at, end - m_at));
    Token token{TokenKind::Float, digits, 0, 0, m_line};
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token.number);
    if (error == std::errc::result_out_of_range) token.number = std::strtod(digits.c_str(), nullptr); // infinity, or 0
    m_tokens.push_back(std::move(token));
    skipTo(end);
  }

  void addInteger() {
    int base = 10;
    std::size_t end = m_at;
    if (m_text[m_at] == '0' && m_at + 1 < m_text.size()) {
      const char letter = static_cast<char>(m_text[m_at + 1] | 0x20);
      const auto based = [&](int candidate, auto digit) {
        const std::size_t behind = behindDigits(m_at + 2, digit, true);
        if (behind == m_at + 2) return;
        base = candidate;
        end = behind;
      };
      if (letter == 'b') based(2, [](char c) { return c == '0' || c == '1'; });
      if (letter == 'o') based(8, [](char c) { return c >= '0' && c <= '7'; });
      if (letter == 'x') based(16, [](char c) { return isDigit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f'); });
    }
    if (base == 10)
      end = m_text[m_at] == '0' ? behindDigits(
                                      m_at, [](char c) { return c == '0'; }, false)
                                : behindDigits(m_at, isDigit, false);
    const std::string digits = withoutUnderscores(m_text.substr(m_at, end - m_at)).substr(base == 10 ? 0 : 2);
    Token token{TokenKind::Integer, digits, 0, 0, m_line};
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token.integer, base);
    if (error != std::errc())
      raise("OverflowError", fmt::format("the number {} has more than 64 bits", digits), m_line);
    m_tokens.push_back(std::move(token));
    skipTo(end);
  }

  bool lexName() {
    std::size_t end = m_at;
    bool sound = true;
    while (end < m_text.size()) {
      const int length = utf8Length(static_cast<unsigned char>(m_text[end]));
      const char32_t code = readUtf8(m_text.data() + end, length);
      if (!(code == U'_' || isWordCharacter(code))) break;
      sound = sound && isIdentifierCharacter(code, end == m_at);
      end += static_cast<std::size_t>(length);
    }
    if (end == m_at) return false;
    if (!sound) syntaxError("Invalid character in identifier", m_line);
    m_tokens.push_back({TokenKind::Name, std::string(m_text.substr(m_at, end - m_at)), 0, 0, m_line});
    skipTo(end);
    return true;
  }

  bool lexString() {
    const char quote = m_text[m_at];
    if (quote != '\'' && quote != '"') return false;
    std::size_t end = m_at + 1;
    while (end < m_text.size() && m_text[end] != quote) end += m_text[end] == '\\' ? 2 : 1;
    if (end >= m_text.size()) return false;
    m_tokens.push_back(
        {TokenKind::String, unescapedLiteral(m_text.substr(m_at + 1, end - m_at - 1), m_line), 0, 0, m_line});
    skipTo(end + 1);
    return true;
  }

  bool lexOperator() {
    // Longer spellings first.
    static constexpr std::string_view spellings[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                     "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                     ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    for (const std::string_view spelling : spellings) {
      if (!startsWith(spelling)) continue;
      const char c = spelling[0];
      if (c == '(' || c == '[' || c == '{') m_brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
      if (c == ')' || c == ']' || c == '}') {
        if (m_brackets.empty()) syntaxError(fmt::format("unexpected '{}'", c), m_line);
        const char expected = m_brackets.back();
        m_brackets.pop_back();
        if (expected != c) syntaxError(fmt::format("unexpected '{}', expected '{}'", c, expected), m_line);
      }
      m_tokens.push_back({TokenKind::Operator, std::string(spelling), 0, 0, m_line});
      skipTo(m_at + spelling.size());
      return true;
    }
    return false;
  }

  const std::string m_source;
  const std::string_view m_text;
  std::size_t m_at = 0;
  int m_line = 1;
  bool m_lineStarting = true;
  std::string m_brackets; ///< the closing ones that are due
  std::vector<Token> m_tokens;
};

} // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
  case TokenKind::Data:
    return "template data / text";
  case TokenKind::BlockBegin:
    return "begin of statement block";
  case TokenKind::BlockEnd:
    return "end of statement block";
  case TokenKind::VariableBegin:
    return "begin of print statement";
  case TokenKind::VariableEnd:
    return "end of print statement";
  case TokenKind::String:
    return "string";
  case TokenKind::Integer:
    return "integer";
  case TokenKind::Float:
    return "float";
  case TokenKind::Name:
  case TokenKind::Operator:
    return token.text;
  case TokenKind::End:
    break;
  }
  return "end of template";
}

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

} // namespace millrace::jinja
