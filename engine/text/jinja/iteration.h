// Going through values.
#pragma once

#include "text/jinja/value.h"

#include <functional>
#include <optional>

namespace millrace::jinja {

/// Gives one item after the other; false when there are no more.
using ItemSource = std::function<bool(Value&)>;

bool isIterable(const Value& value);
/// Throws Fault (TypeError) for what cannot be gone through. An Iterator goes on where it stands.
ItemSource iterate(Heap& heap, const Value& value);
/// All items of it.
Values collect(Heap& heap, const Value& value);
/// len(); nothing for what has none.
std::optional<std::int64_t> lengthOf(const Value& value);

} // namespace millrace::jinja
