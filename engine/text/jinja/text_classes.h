// The questions that str's methods answer about a whole text, and what methods and filters do to one alike.
#pragma once

#include "text/jinja/value.h"

namespace millrace::jinja {

bool isAlpha(std::string_view text);
bool isAlnum(std::string_view text);
bool isDigitText(std::string_view text);
bool isDecimal(std::string_view text);
bool isNumericText(std::string_view text);
bool isSpace(std::string_view text);
bool isUpper(std::string_view text);
bool isLower(std::string_view text);
bool isTitle(std::string_view text);
bool isAscii(std::string_view text);
bool isIdentifier(std::string_view text);
bool isPrintableText(std::string_view text);

/// Filled up to the width in characters; where: '<' at the left, '>' at the right, '^' in the middle.
std::string justifiedText(Heap& heap, std::string_view text, std::int64_t width, std::string_view fill, char where);
/// str.replace() of texts; the budget is charged before the text is made.
Value replaceText(Heap& heap, const Value& text, const Value& from, const Value& to, std::int64_t count);

} // namespace millrace::jinja
