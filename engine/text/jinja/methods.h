// Methods and attributes of values: those of Python's str, list, tuple, dict, int and float that change nothing, and
// those of Jinja's own objects.
#pragma once

#include "text/jinja/runtime.h"

namespace millrace::jinja {

/// Whether the attribute exists and the sandbox keeps it away: names with an underscore in front, and methods that
/// change the object.
bool isForbiddenAttribute(const Value& object, std::string_view name);
/// The attribute, methods bound to the object; nothing when there is none of that name.
std::optional<Value> attributeOf(Heap& heap, const Value& object, std::string_view name);

/// A method: self and the arguments of the call.
using Method = Value (*)(Runtime&, const Value& self, Arguments&);
/// Of str; null when there is none of that name.
Method textMethod(std::string_view name);

} // namespace millrace::jinja
