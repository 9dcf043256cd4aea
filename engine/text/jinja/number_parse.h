// Texts as numbers, by the rules of Python's int() and float().
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace::jinja {

/// base: 0 (by the prefix) or 2 to 36. Nothing for what is no whole number of 64 bits.
std::optional<std::int64_t> parseWhole(std::string_view text, std::int64_t base);
std::optional<double> parseReal(std::string_view text);

} // namespace millrace::jinja
