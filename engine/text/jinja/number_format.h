// Numbers as the formats of % and {} write them.
#pragma once

#include "text/jinja/value.h"

namespace millrace::jinja {

/// type: e, E, f, F, g, G or %; precision: digits; alternate: keep the point. Without a sign for what is not negative.
std::string formattedFloat(Heap& heap, double value, char type, int precision, bool alternate);
/// The digits of the magnitude: base 2, 8, 10 or 16.
std::string digitsOf(std::int64_t value, int base, bool upper);
/// What int() makes of a value in a format: floats are cut. Nothing for what is no number.
std::optional<std::int64_t> truncated(const Value& value);

} // namespace millrace::jinja
