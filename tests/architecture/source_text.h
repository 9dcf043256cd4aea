// C++ source text with what is not code blanked out, line structure kept.
#pragma once

#include <string>
#include <string_view>

namespace millrace {

struct SourceText {
  std::string withoutComments; ///< comments are blanks
  std::string codeOnly;        ///< and so are the contents of string and character literals
};

SourceText readSourceText(std::string_view text);

} // namespace millrace
