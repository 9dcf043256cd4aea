#include "text/jinja/methods.h"

#include "text/jinja/arguments.h"
#include "text/jinja/ast.h"
#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"
#include "text/jinja/loop.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

template <std::size_t N>
bool isOneOf(std::string_view name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Value bound(Heap& heap, const Value& self, std::string_view name, Method method) {
  return heap.method(std::string(name), [self, method](Runtime& runtime, Arguments& arguments) {
    return method(runtime, self, arguments);
  });
}

// list and tuple

Value sequenceIndex(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional("index", arguments, 1, 3);
  const Values& items = self.list->items;
  const auto count = static_cast<std::int64_t>(items.size());
  const auto placed = [&](std::size_t i, std::int64_t absent) {
    if (arguments.positional.size() <= i) return absent;
    const std::int64_t index = wholeArgument(arguments.positional[i]);
    return std::clamp(index < 0 ? std::max(index, -count) + count : index, std::int64_t{0}, count);
  };
  const std::int64_t end = placed(2, count);
  for (std::int64_t i = placed(1, 0); i < end; ++i)
    if (equal(runtime.heap(), items[static_cast<std::size_t>(i)], arguments.positional[0])) return Value::of(i);
  if (self.is(Kind::Tuple)) raise("ValueError", "tuple.index(x): x not in tuple");
  raise("ValueError", fmt::format("{} is not in list", represent(runtime.heap(), arguments.positional[0])));
}

Value sequenceCount(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional(self.is(Kind::List) ? "list.count" : "tuple.count", arguments, 1, 1);
  const Values& items = self.list->items;
  return Value::of(static_cast<std::int64_t>(std::count_if(items.begin(), items.end(), [&](const Value& item) {
    return equal(runtime.heap(), item, arguments.positional[0]);
  })));
}

Value copyOf(Runtime&, const Value& self, Arguments& arguments) {
  expectPositional(self.is(Kind::Dict) ? "dict.copy" : "list.copy", arguments, 0, 0);
  return self; // nothing can change it
}

// dict

Value dictGet(Runtime& runtime, const Value& self, Arguments& arguments) {
  expectPositional("dict.get", arguments, 1, 2);
  if (const Value* found = find(runtime.heap(), *self.dict, arguments.positional[0])) return *found;
  return arguments.positional.size() > 1 ? arguments.positional[1] : Value();
}

template <DictViewObject::Part part>
Value dictView(Runtime& runtime, const Value& self, Arguments& arguments) {
  constexpr const char* name = part == DictViewObject::Part::AllKeys     ? "dict.keys"
                               : part == DictViewObject::Part::AllValues ? "dict.values"
                                                                         : "dict.items";
  expectPositional(name, arguments, 0, 0);
  return runtime.heap().view(self.dict, part);
}

Value dictFromKeys(Runtime& runtime, const Value&, Arguments& arguments) {
  expectPositional("fromkeys", arguments, 1, 2);
  std::vector<std::pair<Value, Value>> items;
  for (const Value& key : collect(runtime.heap(), arguments.positional[0]))
    items.emplace_back(key, arguments.positional.size() > 1 ? arguments.positional[1] : Value());
  return runtime.heap().dict(std::move(items));
}

// numbers

Value isInteger(Runtime&, const Value& self, Arguments& arguments) {
  expectPositional("float.is_integer", arguments, 0, 0);
  return Value::of(std::isfinite(self.number) && std::floor(self.number) == self.number);
}

Value bitLength(Runtime&, const Value& self, Arguments& arguments) {
  expectPositional("int.bit_length", arguments, 0, 0);
  const std::int64_t value = self.whole();
  const auto size = value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
  return Value::of(static_cast<std::int64_t>(std::bit_width(size)));
}

Value itself(Runtime&, const Value& self, Arguments& arguments) {
  expectPositional("conjugate", arguments, 0, 0);
  return self;
}

// Jinja's own

Value loopCycle(Runtime&, const Value& self, Arguments& arguments) {
  if (!arguments.named.empty())
    raise("TypeError",
          fmt::format("LoopContext.cycle() got an unexpected keyword argument '{}'", arguments.named[0].first));
  if (arguments.positional.empty()) raise("TypeError", "no items for cycling given");
  return arguments.positional[static_cast<std::size_t>(self.loop->index0()) % arguments.positional.size()];
}

Value loopChanged(Runtime& runtime, const Value& self, Arguments& arguments) {
  if (!arguments.named.empty())
    raise("TypeError",
          fmt::format("LoopContext.changed() got an unexpected keyword argument '{}'", arguments.named[0].first));
  return Value::of(self.loop->changed(runtime.heap(), arguments.positional));
}

Value cyclerNext(Runtime&, const Value& self, Arguments& arguments) {
  expectPositional("Cycler.next", arguments, 0, 0);
  CyclerObject& cycler = *self.cycler;
  const Value item = cycler.items[cycler.position];
  cycler.position = (cycler.position + 1) % cycler.items.size();
  return item;
}

Value cyclerReset(Runtime&, const Value& self, Arguments& arguments) {
  expectPositional("Cycler.reset", arguments, 0, 0);
  self.cycler->position = 0;
  return Value();
}

std::optional<Value> loopAttribute(Heap& heap, const Value& object, std::string_view name) {
  LoopObject& loop = *object.loop;
  if (name == "index") return Value::of(loop.index());
  if (name == "index0") return Value::of(loop.index0());
  if (name == "first") return Value::of(loop.index0() == 0);
  if (name == "last") return Value::of(loop.last());
  if (name == "length") return Value::of(loop.length());
  if (name == "revindex") return Value::of(loop.length() - loop.index0());
  if (name == "revindex0") return Value::of(loop.length() - loop.index());
  if (name == "depth") return Value::of(loop.depth0 + 1);
  if (name == "depth0") return Value::of(loop.depth0);
  if (name == "previtem") {
    const Value* previous = loop.previous();
    return previous != nullptr ? *previous : heap.undefined("there is no previous item");
  }
  if (name == "nextitem") {
    const Value* next = loop.next();
    return next != nullptr ? *next : heap.undefined("there is no next item");
  }
  if (name == "cycle") return bound(heap, object, name, &loopCycle);
  if (name == "changed") return bound(heap, object, name, &loopChanged);
  return std::nullopt;
}

std::optional<Value> macroAttribute(Heap& heap, const MacroObject& macro, std::string_view name) {
  if (name == "name") return heap.string(macro.name);
  if (name == "catch_kwargs") return Value::of(macro.definition->usesKwargs);
  if (name == "catch_varargs") return Value::of(macro.definition->usesVarargs);
  if (name == "caller") return Value::of(macro.definition->usesCaller);
  if (name == "arguments") {
    Values names;
    for (const Statement::Parameter& parameter : macro.definition->parameters)
      names.push_back(heap.string(parameter.text));
    return heap.tuple(std::move(names));
  }
  return std::nullopt;
}

Method sequenceMethod(const Value& object, std::string_view name) {
  if (name == "index") return &sequenceIndex;
  if (name == "count") return &sequenceCount;
  return name == "copy" && object.is(Kind::List) ? &copyOf : nullptr;
}

Method dictMethod(std::string_view name) {
  if (name == "get") return &dictGet;
  if (name == "keys") return &dictView<DictViewObject::Part::AllKeys>;
  if (name == "values") return &dictView<DictViewObject::Part::AllValues>;
  if (name == "items") return &dictView<DictViewObject::Part::AllItems>;
  if (name == "copy") return &copyOf;
  return name == "fromkeys" ? &dictFromKeys : nullptr;
}

std::optional<Value> numberAttribute(Heap& heap, const Value& object, std::string_view name) {
  if (name == "real") return object.isWhole() ? Value::of(object.whole()) : object;
  if (name == "imag") return object.isWhole() ? Value::of(std::int64_t{0}) : Value::of(0.0);
  if (name == "conjugate") return bound(heap, object, name, &itself);
  if (object.is(Kind::Float))
    return name == "is_integer" ? std::optional(bound(heap, object, name, &isInteger)) : std::nullopt;
  if (name == "numerator") return Value::of(object.whole());
  if (name == "denominator") return Value::of(std::int64_t{1});
  if (name == "bit_length") return bound(heap, object, name, &bitLength);
  return std::nullopt;
}

std::optional<Value> boundOr(Heap& heap, const Value& object, std::string_view name, Method method) {
  if (method == nullptr) return std::nullopt;
  return bound(heap, object, name, method);
}

} // namespace

bool isForbiddenAttribute(const Value& object, std::string_view name) {
  static constexpr std::array<std::string_view, 22> ofEverything = {
      "__class__", "__delattr__",      "__dir__",    "__doc__",  "__eq__",     "__format__",
      "__ge__",    "__getattribute__", "__gt__",     "__hash__", "__init__",   "__init_subclass__",
      "__le__",    "__lt__",           "__ne__",     "__new__",  "__reduce__", "__reduce_ex__",
      "__repr__",  "__setattr__",      "__sizeof__", "__str__"};
  static constexpr std::array<std::string_view, 6> ofContainers = {"__contains__", "__getitem__", "__iter__",
                                                                   "__len__",      "__add__",     "__mul__"};
  static constexpr std::array<std::string_view, 8> changesList = {"append", "clear", "pop",    "reverse",
                                                                  "insert", "sort",  "extend", "remove"};
  static constexpr std::array<std::string_view, 5> changesDict = {"clear", "pop", "popitem", "setdefault", "update"};
  if (object.is(Kind::Namespace)) {
    const auto& attributes = object.ns->attributes;
    return name == "__class__" ||
           (name.starts_with('_') &&
            std::any_of(attributes.begin(), attributes.end(), [&](const auto& entry) { return entry.first == name; }));
  }
  if (name.starts_with("__"))
    return isOneOf(name, ofEverything) ||
           ((object.isString() || object.is(Kind::List) || object.is(Kind::Tuple) || object.is(Kind::Dict)) &&
            isOneOf(name, ofContainers));
  if (object.is(Kind::List)) return isOneOf(name, changesList);
  return object.is(Kind::Dict) && isOneOf(name, changesDict);
}

std::optional<Value> attributeOf(Heap& heap, const Value& object, std::string_view name) {
  switch (object.kind) {
  case Kind::String:
    return boundOr(heap, object, name, textMethod(name));
  case Kind::List:
  case Kind::Tuple:
    if (object.list->isGroup && (name == "grouper" || name == "list"))
      return object.list->items[name == "list" ? 1 : 0];
    return boundOr(heap, object, name, sequenceMethod(object, name));
  case Kind::Dict:
    return boundOr(heap, object, name, dictMethod(name));
  case Kind::Bool:
  case Kind::Int:
  case Kind::Float:
    return numberAttribute(heap, object, name);
  case Kind::Range:
    if (name == "start") return Value::of(object.range->start);
    if (name == "stop") return Value::of(object.range->stop);
    if (name == "step") return Value::of(object.range->step);
    return std::nullopt;
  case Kind::Namespace:
    for (const auto& [key, value] : object.ns->attributes)
      if (key == name) return value;
    return std::nullopt;
  case Kind::Function:
    // The dict function has fromkeys, as the class has.
    if (object.function->name == "dict" && name == "fromkeys") return bound(heap, object, name, &dictFromKeys);
    return std::nullopt;
  case Kind::Loop:
    return loopAttribute(heap, object, name);
  case Kind::Macro:
    return macroAttribute(heap, *object.macro, name);
  case Kind::Cycler:
    if (name == "current") return object.cycler->items[object.cycler->position];
    if (name == "next") return bound(heap, object, name, &cyclerNext);
    if (name == "reset") return bound(heap, object, name, &cyclerReset);
    return std::nullopt;
  case Kind::Joiner:
    if (name == "sep") return heap.string(object.joiner->separator);
    if (name == "used") return Value::of(object.joiner->used);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

} // namespace millrace::jinja
