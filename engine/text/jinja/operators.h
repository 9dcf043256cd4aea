// The operators of Python on template values: arithmetic, order, membership. All throw Fault with Python's message.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace millrace::jinja {

/// Add to Pow.
Value arithmetic(Heap& heap, Operator op, const Value& a, const Value& b);
Value negative(const Value& value);
Value positive(const Value& value);
/// Eq to NotIn.
bool compare(Heap& heap, Operator op, const Value& a, const Value& b);
/// a < b.
bool less(Heap& heap, const Value& a, const Value& b);
/// item in container.
bool contains(Heap& heap, const Value& container, const Value& item);
/// UndefinedError or SecurityError with what the value says.
[[noreturn]] void failUndefined(const Value& value);
/// AttributeError as Python's own code raises it; for what is undefined, what that says.
[[noreturn]] void noAttribute(const Value& value, std::string_view name);
/// &, <, >, and both quotes for HTML; Markup stays as it is.
Value escaped(Heap& heap, const Value& value);

} // namespace millrace::jinja
