// Breaking a paragraph into lines of bounded width, as Python's textwrap does with tabs and white space left alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::jinja {

struct WrapOptions {
  std::int64_t width = 79; ///< characters, at least 1
  bool breakLongWords = true;
  bool breakOnHyphens = true;
};

/// No line for text of white space alone.
std::vector<std::string> wrappedLines(std::string_view paragraph, const WrapOptions& options);

} // namespace millrace::jinja
