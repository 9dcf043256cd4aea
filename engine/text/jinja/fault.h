// How a template fails inside the interpreter: an exception that Template turns into a value. It never leaves
// text/jinja.
#pragma once

#include <string>
#include <utility>

namespace millrace::jinja {

/// The kinds and messages are those of the reference implementation, since people search for them.
struct Fault {
  std::string type; ///< "TemplateError", "UndefinedError", "TypeError", ...
  std::string message;
  int line = 0; ///< of the template, from 1; 0: not known yet
};

[[noreturn]] inline void raise(const char* type, std::string message, int line = 0) {
  throw Fault{type, std::move(message), line};
}
[[noreturn]] inline void syntaxError(std::string message, int line) {
  throw Fault{"TemplateSyntaxError", std::move(message), line};
}

} // namespace millrace::jinja
