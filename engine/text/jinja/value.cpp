#include "text/jinja/value.h"

#include "text/jinja/fault.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

constexpr int deepestValue = 200;   // of lists in lists; what walks them recurses
constexpr int deepestIterator = 50; // of iterators that take from iterators
constexpr std::size_t indexedFrom = 12;

int depthOf(const Value& value) {
  switch (value.kind) {
  case Kind::List:
  case Kind::Tuple:
    return value.list->depth;
  case Kind::Dict:
    return value.dict->depth;
  case Kind::DictView:
    return value.view->dict->depth;
  default:
    return 0;
  }
}

int checkedDepth(int depth) {
  if (depth > deepestValue)
    raise("RecursionError", fmt::format("a value is nested deeper than {} levels", deepestValue));
  return depth;
}

/// Equal values have equal hashes, 1, 1.0 and true among them.
std::size_t hashOf(const Value& value) {
  switch (value.kind) {
  case Kind::String:
    return std::hash<std::string_view>()(value.text());
  case Kind::Bool:
  case Kind::Int:
  case Kind::Float:
    return std::hash<double>()(value.real());
  case Kind::None:
    return 1;
  case Kind::Undefined:
    return 2;
  case Kind::Tuple: {
    std::size_t hash = 3;
    for (const Value& item : value.list->items) hash = hash * 31 + hashOf(item);
    return hash;
  }
  case Kind::List:
  case Kind::Dict:
    raise("TypeError", fmt::format("unhashable type: '{}'", typeName(value)));
  case Kind::DictView:
    if (value.view->part != DictViewObject::Part::AllValues)
      raise("TypeError", fmt::format("unhashable type: '{}'", typeName(value)));
    return 4;
  default:
    return 5;
  }
}

bool equalDicts(Heap& heap, const DictObject& a, const DictObject& b) {
  if (a.items.size() != b.items.size()) return false;
  return std::all_of(a.items.begin(), a.items.end(), [&](const auto& item) {
    const Value* other = find(heap, b, item.first);
    return other != nullptr && equal(heap, item.second, *other);
  });
}

} // namespace

std::string_view Value::text() const {
  return string->text;
}

std::int64_t RangeObject::size() const {
  if (step > 0 ? start >= stop : start <= stop) return 0;
  const auto span = step > 0 ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                             : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const auto stride = step > 0 ? static_cast<std::uint64_t>(step) : ~static_cast<std::uint64_t>(step) + 1;
  const std::uint64_t count = (span - 1) / stride + 1;
  return count > static_cast<std::uint64_t>(INT64_MAX) ? INT64_MAX : static_cast<std::int64_t>(count);
}

void Heap::charge(std::int64_t bytes) {
  m_budget.bytes -= bytes;
  if (m_budget.bytes < 0)
    raise("MemoryError",
          "the template makes more text and values than a rendering may hold; it may be growing without end");
  step(bytes / 64);
}

void Heap::step(std::int64_t count) {
  m_budget.steps -= count;
  if (m_budget.steps < 0)
    raise("TimeoutError", "the template takes more steps than a rendering may; it may be looping without end");
}

Value Heap::string(std::string text, bool markup) {
  charge(static_cast<std::int64_t>(text.size()));
  auto* object = make<StringObject>();
  object->text = std::move(text);
  Value value;
  value.kind = Kind::String;
  value.markup = markup;
  value.string = object;
  return value;
}

Value Heap::sequence(Kind kind, Values items, bool isGroup) {
  charge(static_cast<std::int64_t>(items.size() * sizeof(Value)));
  auto* object = make<ListObject>();
  object->isGroup = isGroup;
  for (const Value& item : items) object->depth = std::max(object->depth, depthOf(item) + 1);
  checkedDepth(object->depth);
  object->items = std::move(items);
  Value value;
  value.kind = kind;
  value.list = object;
  return value;
}

Value Heap::list(Values items) {
  return sequence(Kind::List, std::move(items));
}
Value Heap::tuple(Values items) {
  return sequence(Kind::Tuple, std::move(items));
}

Value Heap::group(const Value& grouper, const Value& list) {
  return sequence(Kind::Tuple, {grouper, list}, true);
}

Value Heap::dict(std::vector<std::pair<Value, Value>> items) {
  charge(static_cast<std::int64_t>(items.size() * sizeof(items[0]) * 2));
  auto* object = make<DictObject>();
  const bool indexed = items.size() > indexedFrom;
  for (auto& [key, value] : items) {
    const std::size_t hash = hashOf(key);
    if (const Value* known = find(*this, *object, key)) {
      for (auto& item : object->items)
        if (&item.second == known) item.second = value;
      continue;
    }
    object->depth = std::max({object->depth, depthOf(key) + 1, depthOf(value) + 1});
    if (indexed) object->index.emplace(hash, object->items.size());
    object->items.emplace_back(key, value);
  }
  checkedDepth(object->depth);
  Value value;
  value.kind = Kind::Dict;
  value.dict = object;
  return value;
}

Value Heap::range(std::int64_t start, std::int64_t stop, std::int64_t step) {
  auto* object = make<RangeObject>();
  object->start = start;
  object->stop = stop;
  object->step = step;
  Value value;
  value.kind = Kind::Range;
  value.range = object;
  return value;
}

Value Heap::view(const DictObject* dict, DictViewObject::Part part) {
  auto* object = make<DictViewObject>();
  object->dict = dict;
  object->part = part;
  Value value;
  value.kind = Kind::DictView;
  value.view = object;
  return value;
}

Value Heap::iterator(const char* typeName, const Value* source, std::function<bool(Value&)> next) {
  auto* object = make<IteratorObject>();
  object->typeName = typeName;
  object->next = std::move(next);
  if (source != nullptr && source->is(Kind::Iterator)) object->depth = source->iterator->depth + 1;
  if (object->depth > deepestIterator)
    raise("RecursionError", fmt::format("more than {} filters take lazily from one another", deepestIterator));
  Value value;
  value.kind = Kind::Iterator;
  value.iterator = object;
  return value;
}

Value Heap::method(std::string name, std::function<Value(Runtime&, Arguments&)> call) {
  auto* object = make<FunctionObject>();
  object->name = std::move(name);
  object->isMethod = true;
  object->call = std::move(call);
  Value value;
  value.kind = Kind::Function;
  value.function = object;
  return value;
}

Value Heap::undefined(std::string message, bool unsafe) {
  charge(static_cast<std::int64_t>(message.size()));
  auto* object = make<UndefinedObject>();
  object->message = std::move(message);
  object->unsafe = unsafe;
  Value value;
  value.kind = Kind::Undefined;
  value.undefined = object;
  return value;
}

Value Heap::undefinedAttribute(const Value& of, std::string_view name) {
  return undefined(fmt::format("{} has no attribute {}", inQuotes(describeObject(of)), inQuotes(name)));
}

std::string typeName(const Value& value) {
  switch (value.kind) {
  case Kind::Undefined:
    return "Undefined";
  case Kind::None:
    return "NoneType";
  case Kind::Bool:
    return "bool";
  case Kind::Int:
    return "int";
  case Kind::Float:
    return "float";
  case Kind::String:
    return value.markup ? "Markup" : "str";
  case Kind::List:
    return "list";
  case Kind::Tuple:
    return "tuple";
  case Kind::Dict:
    return "dict";
  case Kind::DictView:
    return value.view->part == DictViewObject::Part::AllKeys     ? "dict_keys"
           : value.view->part == DictViewObject::Part::AllValues ? "dict_values"
                                                                 : "dict_items";
  case Kind::Range:
    return "range";
  case Kind::Iterator:
    return value.iterator->typeName;
  case Kind::Namespace:
    return "Namespace";
  case Kind::Function:
    return value.function->isClass ? "type" : value.function->isMethod ? "builtin_function_or_method" : "function";
  case Kind::Macro:
    return "Macro";
  case Kind::Loop:
    return "LoopContext";
  case Kind::Cycler:
    return "Cycler";
  case Kind::Joiner:
    return "Joiner";
  }
  return "object";
}

bool truth(const Value& value) {
  switch (value.kind) {
  case Kind::Undefined:
  case Kind::None:
    return false;
  case Kind::Bool:
    return value.boolean;
  case Kind::Int:
    return value.integer != 0;
  case Kind::Float:
    return value.number != 0;
  case Kind::String:
    return !value.text().empty();
  case Kind::List:
  case Kind::Tuple:
    return !value.list->items.empty();
  case Kind::Dict:
    return !value.dict->items.empty();
  case Kind::DictView:
    return !value.view->dict->items.empty();
  case Kind::Range:
    return value.range->size() > 0;
  default:
    return true; // an iterator too, even an empty one
  }
}

bool equal(Heap& heap, const Value& a, const Value& b) {
  heap.step();
  if (a.isNumber() && b.isNumber()) {
    if (a.isWhole() && b.isWhole()) return a.whole() == b.whole();
    return a.real() == b.real();
  }
  if (a.kind != b.kind) return false;
  switch (a.kind) {
  case Kind::Undefined:
  case Kind::None:
    return true;
  case Kind::String:
    heap.step(static_cast<std::int64_t>(a.text().size() / 64));
    return a.text() == b.text();
  case Kind::List:
  case Kind::Tuple:
    if (a.list == b.list) return true;
    return std::equal(a.list->items.begin(), a.list->items.end(), b.list->items.begin(), b.list->items.end(),
                      [&](const Value& x, const Value& y) { return equal(heap, x, y); });
  case Kind::Dict:
    return a.dict == b.dict || equalDicts(heap, *a.dict, *b.dict);
  case Kind::DictView: {
    if (a.view == b.view) return true;
    if (a.view->part != b.view->part || a.view->part == DictViewObject::Part::AllValues) return false;
    const DictObject& x = *a.view->dict;
    const DictObject& y = *b.view->dict;
    if (a.view->part == DictViewObject::Part::AllItems) return equalDicts(heap, x, y);
    return x.items.size() == y.items.size() && std::all_of(x.items.begin(), x.items.end(), [&](const auto& item) {
             return find(heap, y, item.first) != nullptr;
           });
  }
  case Kind::Range: {
    const std::int64_t size = a.range->size();
    return size == b.range->size() &&
           (size == 0 || (a.range->start == b.range->start && (size == 1 || a.range->step == b.range->step)));
  }
  default:
    return a.integer == b.integer; // the same object
  }
}

const Value* find(Heap& heap, const DictObject& dict, const Value& key) {
  const std::size_t hash = hashOf(key);
  if (!dict.index.empty()) {
    const auto [begin, end] = dict.index.equal_range(hash);
    for (auto entry = begin; entry != end; ++entry)
      if (equal(heap, dict.items[entry->second].first, key)) return &dict.items[entry->second].second;
    return nullptr;
  }
  for (const auto& item : dict.items)
    if (equal(heap, item.first, key)) return &item.second;
  return nullptr;
}

const Value* find(const DictObject& dict, std::string_view key) {
  if (!dict.index.empty()) {
    const auto [begin, end] = dict.index.equal_range(std::hash<std::string_view>()(key));
    for (auto entry = begin; entry != end; ++entry)
      if (const Value& candidate = dict.items[entry->second].first; candidate.isString() && candidate.text() == key)
        return &dict.items[entry->second].second;
    return nullptr;
  }
  for (const auto& item : dict.items)
    if (item.first.isString() && item.first.text() == key) return &item.second;
  return nullptr;
}

} // namespace millrace::jinja
