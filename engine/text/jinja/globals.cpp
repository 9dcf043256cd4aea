// The functions that every template can call.
#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/printing.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

constexpr std::int64_t longestRange = 100'000;

Value range(Runtime& runtime, Arguments& arguments) {
  if (!arguments.named.empty())
    raise("TypeError", "safe_range() got an unexpected keyword argument '" + arguments.named[0].first + "'");
  const Values& given = arguments.positional;
  if (given.empty()) raise("TypeError", "range expected at least 1 argument, got 0");
  if (given.size() > 3) raise("TypeError", fmt::format("range expected at most 3 arguments, got {}", given.size()));
  RangeObject range;
  if (given.size() == 1) {
    range.stop = wholeArgument(given[0]);
  } else {
    range.start = wholeArgument(given[0]);
    range.stop = wholeArgument(given[1]);
    if (given.size() == 3) range.step = wholeArgument(given[2]);
  }
  if (range.step == 0) raise("ValueError", "range() arg 3 must not be zero");
  constexpr std::int64_t far = std::int64_t{1} << 60;
  const bool sound = std::abs(range.start / 2) < far / 2 && std::abs(range.stop / 2) < far / 2;
  if (!sound || range.size() > longestRange)
    raise("OverflowError",
          fmt::format("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({}).", longestRange));
  return runtime.heap().range(range.start, range.stop, std::clamp(range.step, -far, far));
}

Value dict(Runtime& runtime, Arguments& arguments) {
  Heap& heap = runtime.heap();
  std::vector<std::pair<Value, Value>> items;
  if (arguments.positional.size() > 1)
    raise("TypeError", fmt::format("dict expected at most 1 argument, got {}", arguments.positional.size()));
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional[0];
    if (source.is(Kind::Dict)) {
      items = source.dict->items;
    } else {
      std::int64_t i = 0;
      for (const Value& entry : collect(heap, source)) {
        if (!isIterable(entry))
          raise("TypeError", fmt::format("cannot convert dictionary update sequence element #{} to a sequence", i));
        const Values pair = collect(heap, entry);
        if (pair.size() != 2)
          raise("ValueError",
                fmt::format("dictionary update sequence element #{} has length {}; 2 is required", i, pair.size()));
        items.emplace_back(pair[0], pair[1]);
        ++i;
      }
    }
  }
  for (const auto& [name, value] : arguments.named) items.emplace_back(heap.string(name), value);
  return heap.dict(std::move(items));
}

Value makeNamespace(Runtime& runtime, Arguments& arguments) {
  Heap& heap = runtime.heap();
  const Value start = dict(runtime, arguments);
  auto* const object = heap.make<NamespaceObject>();
  for (const auto& [key, value] : start.dict->items)
    if (key.isString()) object->attributes.emplace_back(std::string(key.text()), value);
  Value result;
  result.kind = Kind::Namespace;
  result.ns = object;
  return result;
}

Value cycler(Runtime& runtime, Arguments& arguments) {
  if (!arguments.named.empty())
    raise("TypeError", "Cycler.__init__() got an unexpected keyword argument '" + arguments.named[0].first + "'");
  if (arguments.positional.empty()) raise("RuntimeError", "at least one item has to be provided");
  auto* const object = runtime.heap().make<CyclerObject>();
  object->items = arguments.positional;
  Value result;
  result.kind = Kind::Cycler;
  result.cycler = object;
  return result;
}

Value joiner(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("Joiner.__init__", arguments, {{"sep"}}, 1);
  auto* const object = runtime.heap().make<JoinerObject>();
  object->separator = bound.has(0) ? toText(runtime.heap(), bound[0]) : ", ";
  Value result;
  result.kind = Kind::Joiner;
  result.joiner = object;
  return result;
}

Value raiseException(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("raise_exception", arguments, {{"message", true}});
  raise("TemplateError", toText(runtime.heap(), bound[0]));
}

/// %f and the zone of a time without one are Python's own; the rest is the C library's.
Value strftimeNow(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("strftime_now", arguments, {{"format", true}});
  if (!bound[0].isString())
    raise("TypeError", fmt::format("strftime() argument 1 must be str, not {}", typeName(bound[0])));
  const std::string_view given = bound[0].text();
  if (given.size() > 4096) raise("ValueError", "a format of time longer than 4096 bytes is not supported");
  std::string format;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] != '%' || i + 1 == given.size()) {
      format += given[i];
    } else {
      const char directive = given[++i];
      if (directive == 'f')
        format += "000000";
      else if (directive != 'z' && directive != 'Z')
        (format += '%') += directive;
    }
  }
  if (format.empty()) return runtime.heap().string("");
  const std::tm now = runtime.localTime();
  std::string text(format.size() * 64 + 256, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &now));
  return runtime.heap().string(std::move(text));
}

} // namespace

void defineGlobals(Interpreter& interpreter) {
  const auto add = [&](const char* name, bool isClass, FilterFunction call) {
    auto* const object = interpreter.heap().make<FunctionObject>();
    object->name = name;
    object->isClass = isClass;
    object->call = call;
    Value value;
    value.kind = Kind::Function;
    value.function = object;
    interpreter.define(name, value);
  };
  add("range", false, &range);
  add("dict", true, &dict);
  add("namespace", true, &makeNamespace);
  add("cycler", true, &cycler);
  add("joiner", true, &joiner);
  add("raise_exception", false, &raiseException);
  add("strftime_now", false, &strftimeNow);
}

} // namespace millrace::jinja
