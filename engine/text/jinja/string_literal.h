// The escapes of string literals in templates.
#pragma once

#include <string>
#include <string_view>

namespace millrace::jinja {

/// inside: what stands between the quotes, valid UTF-8. Unknown escapes stay as they are, as in Python. Throws Fault
/// (TemplateSyntaxError) for escapes that are cut short and for characters that do not exist.
std::string unescapedLiteral(std::string_view inside, int line);

} // namespace millrace::jinja
