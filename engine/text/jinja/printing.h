// How values become text: str() and repr() as Python writes them, and JSON as json.dumps writes it.
#pragma once

#include "text/jinja/value.h"

namespace millrace::jinja {

/// Appends str(value); throws Fault when that passes the heap's budget.
void appendText(Heap& heap, const Value& value, std::string& out);
std::string toText(Heap& heap, const Value& value);
/// repr(value).
std::string represent(Heap& heap, const Value& value);
std::string floatText(double value);
/// What messages call a value: "None", "dict object", "jinja2.utils.Namespace object".
std::string describeObject(const Value& value);

struct JsonStyle {
  bool ascii = false;
  bool sortKeys = false;
  std::optional<std::string> indent; ///< one level's worth
  std::string itemSeparator = ", ";
  std::string keySeparator = ": ";
};
/// Throws Fault (TypeError) for what JSON has no form for.
std::string toJson(Heap& heap, const Value& value, const JsonStyle& style);

} // namespace millrace::jinja
