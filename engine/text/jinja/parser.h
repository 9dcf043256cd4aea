// Parses a template into its tree. Nesting is bounded, so that neither parsing nor rendering can exhaust the stack.
#pragma once

#include "text/jinja/ast.h"

#include <string_view>

namespace millrace::jinja {

/// source: valid UTF-8. Throws Fault with the line.
ParsedTemplate parseTemplate(std::string_view source);

} // namespace millrace::jinja
