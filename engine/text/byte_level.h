// The byte-level alphabet of GPT-2: each byte as one printable character, so that a vocabulary of strings can hold any
// bytes. Pure functions over immutable tables, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace {

/// The character that stands for the byte.
char32_t byteLevelCharacter(unsigned char byte);
/// The byte that the character stands for, or nothing.
std::optional<unsigned char> byteLevelByte(char32_t code);

/// Appends the bytes of text in the alphabet.
void appendByteLevel(std::string_view text, std::string& out);

/// The bytes that a token (valid UTF-8) stands for; nothing when one of its characters is not of the alphabet.
std::optional<std::string> byteLevelBytes(std::string_view token);

} // namespace millrace
