// Filters that go through values item by item.
#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

Value list(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("sync_do_list", arguments, {{"value", true}});
  return runtime.heap().list(collect(runtime.heap(), bound[0]));
}

Value first(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("sync_do_first", arguments, {{"seq", true}}, 1);
  Value item;
  if (iterate(runtime.heap(), bound[0])(item)) return item;
  return runtime.heap().undefined("No first item, sequence was empty.");
}

/// Items from the last to the first; Fault for what has no order or can only be gone through once.
Values backwards(Heap& heap, const Value& value) {
  if (value.is(Kind::Iterator) || !isIterable(value))
    raise("TypeError", fmt::format("'{}' object is not reversible", typeName(value)));
  Values items = collect(heap, value);
  std::reverse(items.begin(), items.end());
  return items;
}

Value last(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_last", arguments, {{"seq", true}}, 1);
  if (bound[0].is(Kind::Undefined)) return runtime.heap().undefined("No last item, sequence was empty.");
  const Values items = backwards(runtime.heap(), bound[0]);
  return items.empty() ? runtime.heap().undefined("No last item, sequence was empty.") : items.front();
}

Value iteratorOver(Heap& heap, const char* type, Values items) {
  return heap.iterator(type, nullptr, [items = std::move(items), at = std::size_t{0}](Value& item) mutable {
    if (at == items.size()) return false;
    item = items[at++];
    return true;
  });
}

Value reverse(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_reverse", arguments, {{"value", true}});
  Heap& heap = runtime.heap();
  const Value& value = bound[0];
  if (value.isString()) {
    std::vector<std::string_view> letters = characters(value.text());
    std::reverse(letters.begin(), letters.end());
    std::string text;
    for (const std::string_view letter : letters) text += letter;
    return heap.string(std::move(text), value.markup);
  }
  if (!isIterable(value)) raise("FilterArgumentError", "argument must be iterable");
  if (value.is(Kind::Iterator)) {
    Values items = collect(heap, value);
    std::reverse(items.begin(), items.end());
    return heap.list(std::move(items));
  }
  const char* const type = value.is(Kind::List)    ? "list_reverseiterator"
                           : value.is(Kind::Range) ? "range_iterator"
                           : value.is(Kind::Dict)  ? "dict_reversekeyiterator"
                                                   : "reversed";
  return iteratorOver(heap, type, backwards(heap, value));
}

Value items(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_items", arguments, {{"value", true}});
  Heap& heap = runtime.heap();
  const Value value = bound[0];
  // Lazy, complaint included.
  return heap.iterator("generator", nullptr, [&heap, value, at = std::size_t{0}](Value& item) mutable {
    if (value.is(Kind::Undefined)) return false;
    if (!value.is(Kind::Dict)) raise("TypeError", "Can only get item pairs from a mapping.");
    if (at == value.dict->items.size()) return false;
    item = heap.tuple({value.dict->items[at].first, value.dict->items[at].second});
    ++at;
    return true;
  });
}

/// Iterates over the value from the first use on; nothing at all where the value is false, None included.
ItemSource lazily(Heap& heap, const Value& value) {
  return [&heap, value, source = ItemSource()](Value& item) mutable {
    if (!source) {
      if (!truth(value)) return false;
      source = iterate(heap, value);
    }
    return source(item);
  };
}

Value map(Runtime& runtime, Arguments& arguments) {
  Heap& heap = runtime.heap();
  if (arguments.positional.empty()) raise("TypeError", "sync_do_map() missing 1 required positional argument: 'value'");
  const Value value = arguments.positional[0];
  auto given = std::make_shared<Arguments>(arguments);
  given->positional.erase(given->positional.begin());
  const auto isAttribute = [](const auto& argument) { return argument.first == "attribute"; };
  const auto attribute = std::find_if(given->named.begin(), given->named.end(), isAttribute);
  if (given->positional.empty() && attribute != given->named.end()) {
    const auto path = std::make_shared<AttributePath>(attribute->second);
    std::optional<Value> fallback;
    for (const auto& [name, argument] : given->named) {
      if (name == "default") fallback = argument;
      if (name != "default" && name != "attribute") {
        // Found when the first item is asked for, as everything that is lazy.
        return heap.iterator("generator", &value, [value, name = name](Value&) -> bool {
          if (!truth(value)) return false;
          raise("FilterArgumentError", fmt::format("Unexpected keyword argument {}", inQuotes(name)));
        });
      }
    }
    return heap.iterator("generator", &value, [&heap, next = lazily(heap, value), path, fallback](Value& item) {
      Value source;
      if (!next(source)) return false;
      item = path->of(heap, source, fallback ? &*fallback : nullptr);
      return true;
    });
  }
  return heap.iterator("generator", &value, [&runtime, value, next = lazily(heap, value), given](Value& item) {
    if (truth(value) && given->positional.empty()) raise("FilterArgumentError", "map requires a filter argument");
    Value source;
    if (!next(source)) return false;
    const Value& name = given->positional[0];
    if (!name.isString()) raise("TemplateRuntimeError", "the name of a filter is a text, not a " + typeName(name));
    Arguments call = *given;
    call.positional[0] = source;
    item = runtime.applyFilter(std::string(name.text()), call);
    return true;
  });
}

/// select, reject and the same by an attribute.
template <bool byAttribute, bool wanted>
Value select(Runtime& runtime, Arguments& arguments) {
  Heap& heap = runtime.heap();
  if (arguments.positional.empty()) raise("TypeError", "the filter is missing 1 required positional argument: 'value'");
  const Value value = arguments.positional[0];
  auto given = std::make_shared<Arguments>(arguments);
  given->positional.erase(given->positional.begin());
  auto path = std::make_shared<std::optional<AttributePath>>();
  return heap.iterator("generator", &value, [&runtime, value, next = lazily(heap, value), given, path](Value& item) {
    constexpr std::size_t nameAt = byAttribute ? 1 : 0;
    if (!truth(value)) return false;
    if (byAttribute && !*path) {
      if (given->positional.empty()) raise("FilterArgumentError", "Missing parameter for attribute name");
      *path = AttributePath(given->positional[0]);
    }
    while (next(item)) {
      const Value subject = byAttribute ? (*path)->of(runtime.heap(), item) : item;
      bool chosen = false;
      if (given->positional.size() > nameAt) {
        const Value& name = given->positional[nameAt];
        if (!name.isString()) raise("TemplateRuntimeError", "the name of a test is a text, not a " + typeName(name));
        Arguments call;
        call.positional.push_back(subject);
        call.positional.insert(call.positional.end(), given->positional.begin() + nameAt + 1, given->positional.end());
        call.named = given->named;
        chosen = truth(runtime.applyTest(std::string(name.text()), call));
      } else {
        chosen = truth(subject);
      }
      if (chosen == wanted) return true;
    }
    return false;
  });
}

Value batch(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_batch", arguments, {{"value", true}, {"linecount", true}, {"fill_with"}});
  Heap& heap = runtime.heap();
  const Value value = bound[0], size = bound[1], fill = bound[2];
  return heap.iterator(
      "generator", &value,
      [&heap, value, size, fill, source = ItemSource(), waiting = Values(), done = false](Value& item) mutable {
        if (!source) source = iterate(heap, value);
        for (Value next; !done;) {
          if (!source(next)) {
            done = true;
            break;
          }
          const bool full = equal(heap, Value::of(static_cast<std::int64_t>(waiting.size())), size);
          if (full) item = heap.list(std::exchange(waiting, {}));
          waiting.push_back(next);
          if (full) return true;
        }
        if (waiting.empty()) return false;
        if (!fill.is(Kind::None)) {
          const std::int64_t missing = wholeArgument(size) - static_cast<std::int64_t>(waiting.size());
          if (missing > 0) heap.charge(missing * static_cast<std::int64_t>(sizeof(Value)));
          for (std::int64_t i = 0; i < missing; ++i) waiting.push_back(fill);
        }
        item = heap.list(std::exchange(waiting, {}));
        return true;
      });
}

Value sliceFilter(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("sync_do_slice", arguments, {{"value", true}, {"slices", true}, {"fill_with"}});
  Heap& heap = runtime.heap();
  const Value value = bound[0], slices = bound[1], fill = bound[2];
  return heap.iterator("generator", &value,
                       [&heap, value, slices, fill, items = std::optional<Values>(), number = std::int64_t{0},
                        offset = std::int64_t{0}](Value& item) mutable {
                         const std::int64_t count = wholeArgument(slices);
                         if (!items) items = collect(heap, value);
                         const auto length = static_cast<std::int64_t>(items->size());
                         if (count == 0) raise("ZeroDivisionError", "integer division or modulo by zero");
                         if (number >= count) return false;
                         const std::int64_t each = length / count, withExtra = length % count;
                         const std::int64_t start = offset + number * each;
                         if (number < withExtra) ++offset;
                         const std::int64_t end = offset + (number + 1) * each;
                         Values part(items->begin() + start, items->begin() + end);
                         if (!fill.is(Kind::None) && number >= withExtra) part.push_back(fill);
                         ++number;
                         item = heap.list(std::move(part));
                         return true;
                       });
}

/// What gives other results each time, or marks up pages, has no place where text is learnt from.
Value notForChats(Runtime&, Arguments&) {
  raise("TemplateRuntimeError", "the filters random and urlize are not supported in chat templates");
}

constexpr NamedFilter sequenceTable[] = {
    {"list", &list},
    {"first", &first},
    {"last", &last},
    {"reverse", &reverse},
    {"items", &items},
    {"map", &map},
    {"select", &select<false, true>},
    {"reject", &select<false, false>},
    {"selectattr", &select<true, true>},
    {"rejectattr", &select<true, false>},
    {"batch", &batch},
    {"slice", &sliceFilter},
    {"random", &notForChats},
    {"urlize", &notForChats},
};

} // namespace

std::span<const NamedFilter> sequenceFilters() {
  return sequenceTable;
}

} // namespace millrace::jinja
