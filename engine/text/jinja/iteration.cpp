#include "text/jinja/iteration.h"

#include "text/jinja/fault.h"
#include "text/jinja/loop.h"
#include "text/jinja/text_ops.h"
#include "text/utf8.h"

#include <fmt/format.h>

namespace millrace::jinja {

namespace {

Value itemOf(Heap& heap, const DictViewObject& view, std::size_t i) {
  const auto& [key, value] = view.dict->items[i];
  if (view.part == DictViewObject::Part::AllKeys) return key;
  if (view.part == DictViewObject::Part::AllValues) return value;
  return heap.tuple({key, value});
}

} // namespace

bool isIterable(const Value& value) {
  switch (value.kind) {
  case Kind::Undefined:
  case Kind::String:
  case Kind::List:
  case Kind::Tuple:
  case Kind::Dict:
  case Kind::DictView:
  case Kind::Range:
  case Kind::Iterator:
  case Kind::Loop:
    return true;
  default:
    return false;
  }
}

ItemSource iterate(Heap& heap, const Value& value) {
  switch (value.kind) {
  case Kind::Undefined:
    return [](Value&) { return false; };
  case Kind::String:
    return [&heap, text = value.text(), at = std::size_t{0}](Value& item) mutable {
      if (at == text.size()) return false;
      const auto length = static_cast<std::size_t>(utf8Length(static_cast<unsigned char>(text[at])));
      item = heap.string(std::string(text.substr(at, length)));
      at += length;
      return true;
    };
  case Kind::List:
  case Kind::Tuple:
    return [&heap, &items = value.list->items, at = std::size_t{0}](Value& item) mutable {
      if (at == items.size()) return false;
      heap.step();
      item = items[at++];
      return true;
    };
  case Kind::Dict:
    return [&heap, dict = value.dict, at = std::size_t{0}](Value& item) mutable {
      if (at == dict->items.size()) return false;
      heap.step();
      item = dict->items[at++].first;
      return true;
    };
  case Kind::DictView:
    return [&heap, view = value.view, at = std::size_t{0}](Value& item) mutable {
      if (at == view->dict->items.size()) return false;
      heap.step();
      item = itemOf(heap, *view, at++);
      return true;
    };
  case Kind::Range:
    return [&heap, range = value.range, at = std::int64_t{0}](Value& item) mutable {
      if (at == range->size()) return false;
      heap.step();
      item = Value::of(range->at(at++));
      return true;
    };
  case Kind::Iterator:
    return [&heap, iterator = value.iterator](Value& item) {
      heap.step();
      return iterator->next(item);
    };
  case Kind::Loop:
    // Python gives pairs of the item and the loop; going on from inside the loop.
    return [&heap, value](Value& item) {
      Value next;
      if (!value.loop->advance(next)) return false;
      item = heap.tuple({next, value});
      return true;
    };
  default:
    raise("TypeError", fmt::format("'{}' object is not iterable", typeName(value)));
  }
}

Values collect(Heap& heap, const Value& value) {
  Values items;
  const ItemSource next = iterate(heap, value);
  for (Value item; next(item);) {
    heap.charge(sizeof(Value));
    items.push_back(item);
  }
  return items;
}

std::optional<std::int64_t> lengthOf(const Value& value) {
  switch (value.kind) {
  case Kind::Undefined:
    return 0;
  case Kind::String:
    return codePoints(value.text());
  case Kind::List:
  case Kind::Tuple:
    return static_cast<std::int64_t>(value.list->items.size());
  case Kind::Dict:
    return static_cast<std::int64_t>(value.dict->items.size());
  case Kind::DictView:
    return static_cast<std::int64_t>(value.view->dict->items.size());
  case Kind::Range:
    return value.range->size();
  case Kind::Loop:
    return value.loop->length();
  default:
    return std::nullopt;
  }
}

} // namespace millrace::jinja
