// The `pattern` value of Split and Replace: {"String": ...} or {"Regex": ...}.
#pragma once

#include "base/json_reader.h"
#include "text/regex.h"

#include <string>

namespace millrace {

/// Compiles it. `where` names the component in errors.
Result<Regex> makePattern(const Json& pattern, const std::string& where);

/// Every match replaced by the content.
Status replaceAll(std::string& text, const Regex& pattern, std::string_view content, RegexScratch& scratch);

/// "'Foo' is not supported; supported are: ...", naming the component.
tl::unexpected<Error> unsupportedComponent(const std::string& where, const Json& description,
                                           const std::vector<std::string>& known);

/// The `type` of a component, or an error.
Result<std::string> componentType(const Json& description, const std::string& where);

} // namespace millrace
