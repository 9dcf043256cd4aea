// Items and attributes of values, by the rules of the sandbox: names that start with an underscore and methods that
// change a value are out of reach.
#pragma once

#include "text/jinja/value.h"

namespace millrace::jinja {

/// object.name: an attribute or method, else the item of that name, else undefined.
Value attribute(Heap& heap, const Value& object, std::string_view name);
/// object[key]: the item, else the attribute of that name, else undefined.
Value item(Heap& heap, const Value& object, const Value& key);
/// object[start:stop:step]; absent parts are None.
Value slice(Heap& heap, const Value& object, const Value& start, const Value& stop, const Value& step);

} // namespace millrace::jinja
