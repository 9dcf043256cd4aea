// Text as Python's str sees it, on UTF-8: lengths and positions are counted in characters (code points), and character
// classes are Python's. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::jinja {

bool isPythonSpace(char32_t code); ///< str.isspace() of one character, and \s
bool isPrintable(char32_t code);   ///< str.isprintable() of one character
/// May stand in a name; first: at its beginning.
bool isIdentifierCharacter(char32_t code, bool first);

std::int64_t codePoints(std::string_view text);
/// The byte at which the n-th character starts; text.size() when there are not so many.
std::size_t byteOfCodePoint(std::string_view text, std::int64_t n);
/// The characters one by one.
std::vector<std::string_view> characters(std::string_view text);

std::string_view stripLeft(std::string_view text);
std::string_view stripRight(std::string_view text);
/// Without any of the characters of the set at the ends asked for.
std::string_view strip(std::string_view text, std::string_view set, bool left, bool right);

/// Where `what` is in the text from byte `from` on, in linear time; npos: nowhere.
std::size_t findText(std::string_view text, std::string_view what, std::size_t from);
/// The last place of it.
std::size_t findLastText(std::string_view text, std::string_view what);

/// str.splitlines().
std::vector<std::string_view> splitLines(std::string_view text, bool keepEnds);

std::string upperCase(std::string_view text);
std::string lowerCase(std::string_view text);
std::string caseFold(std::string_view text);
std::string capitalized(std::string_view text); ///< first character title case, the rest lower
std::string titleCase(std::string_view text);   ///< str.title()
std::string swapCase(std::string_view text);

/// Every occurrence (at most `count` if that is not negative) of `from` replaced; an empty `from` stands between all
/// characters.
std::string replaced(std::string_view text, std::string_view from, std::string_view to, std::int64_t count);

/// repr() of a str.
std::string inQuotes(std::string_view text);

} // namespace millrace::jinja
