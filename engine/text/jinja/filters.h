// The filters and tests that templates know: Jinja's own, and tojson as transformers has it. positional[0] is what they
// are applied to. Those that give many items are lazy, as in Jinja: what is never looked at is never computed.
#pragma once

#include "text/jinja/runtime.h"

#include <span>

namespace millrace::jinja {

using FilterFunction = Value (*)(Runtime&, Arguments&);
struct NamedFilter {
  std::string_view name;
  FilterFunction filter;
};

/// Null when there is none of that name.
FilterFunction findFilter(std::string_view name);
FilterFunction findTest(std::string_view name);

std::span<const NamedFilter> textFilters();
std::span<const NamedFilter> valueFilters();
std::span<const NamedFilter> sequenceFilters();
std::span<const NamedFilter> orderFilters();

/// Looks attributes up as filters do: "a.b.0" goes through items and attributes; none: the value itself.
class AttributePath {
 public:
  AttributePath() = default;
  explicit AttributePath(const Value& attribute);
  /// fallback: takes the place of what is undefined.
  Value of(Heap& heap, Value value, const Value* fallback = nullptr) const;

 private:
  std::vector<Value> m_parts; ///< whole numbers, or texts of m_names
  std::vector<std::shared_ptr<StringObject>> m_names;
};

/// Lower case for texts, other values as they are.
Value withoutCase(Heap& heap, const Value& value);
/// The text of a value as filters take it: texts as they are, else str().
Value softText(Heap& heap, const Value& value);

} // namespace millrace::jinja
