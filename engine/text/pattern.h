// The `pattern` value of Split and Replace: {"String": ...} or {"Regex": ...}.
#pragma once

#include "base/json_reader.h"
#include "text/regex.h"

#include <string>

namespace millrace {

/// Compiles it. `where` names the component in errors.
Result<Regex> makePattern(const Json& pattern, const std::string& where);

/// Refuses a text of so many bytes that was made of one of `given` bytes, where a file's rules let it grow without
/// bound.
Status checkGrowth(std::size_t bytes, std::size_t given);

/// Every match replaced by the content; given: bytes of the text that it was made of, see checkGrowth().
Status replaceAll(std::string& text, std::size_t given, const Regex& pattern, std::string_view content,
                  RegexScratch& scratch);

/// "'Foo' is not supported; supported are: ...", naming the component.
tl::unexpected<Error> unsupportedComponent(const std::string& where, const Json& description,
                                           const std::vector<std::string>& known);

/// The `type` of a component, or an error.
Result<std::string> componentType(const Json& description, const std::string& where);

} // namespace millrace
