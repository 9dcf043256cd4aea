#include "text/jinja/token_stream.h"

#include "text/jinja/fault.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

bool TokenStream::atAnyName(std::initializer_list<std::string_view> names) const {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return atName(name); });
}

bool TokenStream::skipOperator(std::string_view spelling) {
  if (!atOperator(spelling)) return false;
  take();
  return true;
}

bool TokenStream::skipName(std::string_view name) {
  if (!atName(name)) return false;
  take();
  return true;
}

void TokenStream::unexpected(std::string_view expected) const {
  if (atEnd()) syntaxError(fmt::format("unexpected end of template, expected {}.", inQuotes(expected)), line());
  syntaxError(fmt::format("expected token {}, got {}", inQuotes(expected), inQuotes(describe(current()))), line());
}

Token TokenStream::expect(TokenKind kind, const char* called) {
  if (!at(kind)) unexpected(called);
  return take();
}

Token TokenStream::expectOperator(std::string_view spelling) {
  if (!atOperator(spelling)) unexpected(spelling);
  return take();
}

Token TokenStream::expectName(std::string_view name) {
  if (!atName(name)) unexpected(name);
  return take();
}

} // namespace millrace::jinja
