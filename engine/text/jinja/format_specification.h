// What stands behind the colon of a format field: fill, alignment, sign, width, grouping, precision, type.
#pragma once

#include "text/jinja/value.h"

namespace millrace::jinja {

/// format(value, specification). Throws Fault with Python's message for what does not fit the value.
std::string formattedBySpecification(Heap& heap, const Value& value, std::string_view specification);

} // namespace millrace::jinja
