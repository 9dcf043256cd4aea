// Cuts the source of a template into tokens: Jinja's syntax with trim_blocks and lstrip_blocks on, as chat templates
// are written for. White space around tags is taken away here, so that the parser sees text as it will be printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::jinja {

enum class TokenKind : std::uint8_t {
  Data,          ///< text between tags
  BlockBegin,    ///< {%
  BlockEnd,      ///< %}
  VariableBegin, ///< {{
  VariableEnd,   ///< }}
  Name,
  String,
  Integer,
  Float,
  Operator, ///< its spelling is the token's text
  End,
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::string text; ///< Data, Name, Operator: as written; String: with escapes resolved
  std::int64_t integer = 0;
  double number = 0;
  int line = 1;

  bool isOperator(std::string_view spelling) const { return kind == TokenKind::Operator && text == spelling; }
  bool isName(std::string_view name) const { return kind == TokenKind::Name && text == name; }
};

/// How the token is called in messages.
std::string describe(const Token& token);

/// source: valid UTF-8. The last token is End. Throws Fault with the line.
std::vector<Token> tokenize(std::string_view source);

} // namespace millrace::jinja
