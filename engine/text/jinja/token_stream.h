// The tokens of a template while they are parsed, and the names met so far.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

namespace millrace::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : m_tokens(std::move(tokens)) {}

  const Token& current() const { return m_tokens[m_at]; }
  const Token& next() const { return m_tokens[m_at + 1 < m_tokens.size() ? m_at + 1 : m_at]; }
  int line() const { return current().line; }
  bool atEnd() const { return current().kind == TokenKind::End; }
  /// Moves on and gives what was current. At the end it stays.
  Token take() { return atEnd() ? current() : m_tokens[m_at++]; }
  bool at(TokenKind kind) const { return current().kind == kind; }
  bool atOperator(std::string_view spelling) const { return current().isOperator(spelling); }
  bool atName(std::string_view name) const { return current().isName(name); }
  bool atAnyName(std::initializer_list<std::string_view> names) const;
  bool skipOperator(std::string_view spelling);
  bool skipName(std::string_view name);
  Token expect(TokenKind kind, const char* called);
  Token expectOperator(std::string_view spelling);
  Token expectName(std::string_view name);
  Token expectAnyName() { return expect(TokenKind::Name, "name"); }

 private:
  [[noreturn]] void unexpected(std::string_view expected) const;

  std::vector<Token> m_tokens;
  std::size_t m_at = 0;
};

/// Numbers for names.
class NameTable {
 public:
  NameId idOf(const std::string& name) {
    const auto [entry, fresh] = m_ids.emplace(name, static_cast<NameId>(m_names.size()));
    if (fresh) m_names.push_back(name);
    return entry->second;
  }
  std::vector<std::string> take() { return std::move(m_names); }

 private:
  std::unordered_map<std::string, NameId> m_ids;
  std::vector<std::string> m_names;
};

} // namespace millrace::jinja
