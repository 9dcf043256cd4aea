#include "text/jinja/access.h"

#include "text/jinja/ast.h"
#include "text/jinja/fault.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_ops.h"
#include "text/jinja/wide.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

/// The attribute that Python's getattr would find.
std::optional<Value> pythonAttribute(Heap& heap, const Value& object, std::string_view name) {
  if (isForbiddenAttribute(object, name))
    return heap.undefined(
        fmt::format("access to attribute {} of '{}' object is unsafe.", inQuotes(name), typeName(object)), true);
  return attributeOf(heap, object, name);
}

std::int64_t countOf(const Value& value) {
  return value.is(Kind::Range) ? value.range->size() : static_cast<std::int64_t>(value.list->items.size());
}

/// What Python's object[key] gives; nothing where it raises TypeError or LookupError.
std::optional<Value> subscript(Heap& heap, const Value& object, const Value& key) {
  switch (object.kind) {
  case Kind::Undefined:
    failUndefined(object);
  case Kind::Dict: {
    if (key.is(Kind::List) || key.is(Kind::Dict)) return std::nullopt;
    const Value* found = key.isString() ? find(*object.dict, key.text()) : find(heap, *object.dict, key);
    if (found != nullptr) return *found;
    return std::nullopt;
  }
  case Kind::String: {
    if (!key.isWhole()) return std::nullopt;
    const std::string_view text = object.text();
    std::int64_t index = key.whole();
    heap.step(static_cast<std::int64_t>(text.size() / 64));
    const std::int64_t count = codePoints(text);
    if (index < 0) index += count;
    if (index < 0 || index >= count) return std::nullopt;
    const std::size_t at = byteOfCodePoint(text, index);
    return heap.string(
        std::string(text.substr(at, static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(text[at]))))),
        object.markup);
  }
  case Kind::List:
  case Kind::Tuple:
  case Kind::Range: {
    if (!key.isWhole()) return std::nullopt;
    std::int64_t index = key.whole();
    const std::int64_t count = countOf(object);
    if (index < 0) index += count;
    if (index < 0 || index >= count) return std::nullopt;
    if (object.is(Kind::Range)) return Value::of(object.range->at(index));
    return object.list->items[static_cast<std::size_t>(index)];
  }
  default:
    return std::nullopt;
  }
}

Value undefinedItem(Heap& heap, const Value& object, const Value& key) {
  if (key.isString()) return heap.undefinedAttribute(object, key.text());
  return heap.undefined(fmt::format("{} has no element {}", describeObject(object), represent(heap, key)));
}

std::int64_t sliceIndex(const Value& value, std::int64_t absent) {
  if (value.is(Kind::None)) return absent;
  if (!value.isWhole()) raise("TypeError", "slice indices must be integers or None or have an __index__ method");
  return value.whole();
}

} // namespace

Value attribute(Heap& heap, const Value& object, std::string_view name) {
  if (object.is(Kind::Undefined)) failUndefined(object);
  if (const auto value = pythonAttribute(heap, object, name)) return *value;
  if (object.is(Kind::Dict))
    if (const Value* found = find(*object.dict, name)) return *found;
  return heap.undefinedAttribute(object, name);
}

Value item(Heap& heap, const Value& object, const Value& key) {
  if (const auto value = subscript(heap, object, key)) return *value;
  if (key.isString())
    if (const auto value = pythonAttribute(heap, object, key.text())) return *value;
  return undefinedItem(heap, object, key);
}

Value slice(Heap& heap, const Value& object, const Value& start, const Value& stop, const Value& step) {
  if (object.is(Kind::Undefined)) failUndefined(object);
  if (object.is(Kind::Dict)) raise("TypeError", "unhashable type: 'slice'");
  const bool sliceable = object.isString() || object.is(Kind::List) || object.is(Kind::Tuple) || object.is(Kind::Range);
  if (!sliceable) raise("TypeError", fmt::format("'{}' object is not subscriptable", typeName(object)));
  const std::int64_t stride = sliceIndex(step, 1);
  if (stride == 0) raise("ValueError", "slice step cannot be zero");
  std::vector<std::string_view> letters;
  if (object.isString()) {
    heap.charge(static_cast<std::int64_t>(object.text().size()));
    letters = characters(object.text());
  }
  const std::int64_t count = object.isString() ? static_cast<std::int64_t>(letters.size()) : countOf(object);
  const std::int64_t lowest = stride > 0 ? 0 : -1;
  const std::int64_t highest = stride > 0 ? count : count - 1;
  const auto placed = [&](const Value& value, std::int64_t absent) {
    if (value.is(Kind::None)) return absent;
    std::int64_t index = sliceIndex(value, 0);
    if (index < 0) index = index < -count ? lowest : index + count;
    return std::clamp(index, lowest, highest);
  };
  const std::int64_t begin = placed(start, stride > 0 ? lowest : highest);
  const std::int64_t end = placed(stop, stride > 0 ? highest : lowest);
  if (object.is(Kind::Range)) {
    const RangeObject& range = *object.range;
    // Ranges stay within 60 bits, so only the product of the steps can be too large; no range is longer than that.
    constexpr Wide far = Wide{1} << 60;
    const Wide product = std::clamp(static_cast<Wide>(range.step) * stride, -far, far);
    return heap.range(range.start + begin * range.step, range.start + end * range.step,
                      static_cast<std::int64_t>(product));
  }
  RangeObject places;
  places.start = begin;
  places.stop = end;
  places.step = stride;
  const std::int64_t size = places.size();
  heap.step(size);
  if (object.isString()) {
    std::string text;
    for (std::int64_t i = 0; i < size; ++i) text += letters[static_cast<std::size_t>(places.at(i))];
    return heap.string(std::move(text), object.markup);
  }
  Values items;
  for (std::int64_t i = 0; i < size; ++i) items.push_back(object.list->items[static_cast<std::size_t>(places.at(i))]);
  return object.is(Kind::List) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
}

} // namespace millrace::jinja
