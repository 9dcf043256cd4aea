// A text file that was compiled into the program; see packaging/cmake/MillraceEmbed.cmake.
#pragma once

#include <string_view>

namespace millrace {

struct EmbeddedFile {
  std::string_view name; ///< without folder and last extension
  std::string_view text;
};

} // namespace millrace
