#include "text/jinja/filters.h"

#include "text/jinja/access.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_classes.h"
#include "text/jinja/text_ops.h"

#include <charconv>

namespace millrace::jinja {

FilterFunction findFilter(std::string_view name) {
  for (const auto filters : {textFilters(), valueFilters(), sequenceFilters(), orderFilters()})
    for (const NamedFilter& entry : filters)
      if (entry.name == name) return entry.filter;
  return nullptr;
}

AttributePath::AttributePath(const Value& attribute) {
  if (attribute.is(Kind::None)) return;
  if (!attribute.isString()) {
    m_parts.push_back(attribute);
    return;
  }
  const std::string_view text = attribute.text();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('.', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    std::int64_t number = 0;
    if (isDigitText(part) && std::from_chars(part.data(), part.data() + part.size(), number).ec == std::errc()) {
      m_parts.push_back(Value::of(number));
    } else {
      m_names.push_back(std::make_shared<StringObject>());
      m_names.back()->text = part;
      Value name;
      name.kind = Kind::String;
      name.string = m_names.back().get();
      m_parts.push_back(name);
    }
    begin = end + 1;
  }
}

Value AttributePath::of(Heap& heap, Value value, const Value* fallback) const {
  for (const Value& part : m_parts) {
    value = item(heap, value, part);
    if (fallback != nullptr && !fallback->is(Kind::None) && value.is(Kind::Undefined)) value = *fallback;
  }
  return value;
}

Value withoutCase(Heap& heap, const Value& value) {
  if (!value.isString()) return value;
  return heap.string(lowerCase(value.text()), value.markup);
}

Value softText(Heap& heap, const Value& value) {
  return value.isString() ? value : heap.string(toText(heap, value));
}

} // namespace millrace::jinja
