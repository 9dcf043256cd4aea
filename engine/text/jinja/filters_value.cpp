// Filters on single values: numbers, defaults, attributes.
#include "text/jinja/access.h"
#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/methods.h"
#include "text/jinja/number_format.h"
#include "text/jinja/number_parse.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_ops.h"

#include <cmath>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

Value absolute(Runtime&, Arguments& arguments) {
  const BoundArguments bound("abs", arguments, {{"x", true}});
  const Value& value = bound[0];
  if (value.isWhole()) return value.whole() < 0 ? negative(value) : Value::of(value.whole());
  if (value.is(Kind::Float)) return Value::of(std::abs(value.number));
  raise("TypeError", fmt::format("bad operand type for abs(): '{}'", typeName(value)));
}

Value attr(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_attr", arguments, {{"obj", true}, {"name", true}}, 1);
  Heap& heap = runtime.heap();
  if (!bound[1].isString()) raise("TypeError", "attribute name must be string, not '" + typeName(bound[1]) + "'");
  if (bound[0].is(Kind::Undefined)) failUndefined(bound[0]);
  // Attributes alone: items of dicts are none.
  const std::string_view name = bound[1].text();
  if (isForbiddenAttribute(bound[0], name) || attributeOf(heap, bound[0], name)) return attribute(heap, bound[0], name);
  return heap.undefinedAttribute(bound[0], name);
}

Value byDefault(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_default", arguments, {{"value", true}, {"default_value"}, {"boolean"}});
  const bool replaces = bound[0].is(Kind::Undefined) || (bound.truthOr(2, false) && !truth(bound[0]));
  if (!replaces) return bound[0];
  return bound.has(1) ? bound[1] : runtime.heap().string("");
}

Value toInt(Runtime&, Arguments& arguments) {
  const BoundArguments bound("do_int", arguments, {{"value", true}, {"default"}, {"base"}});
  const Value fallback = bound.has(1) ? bound[1] : Value::of(std::int64_t{0});
  const Value& value = bound[0];
  if (value.is(Kind::Undefined)) failUndefined(value);
  if (value.isString()) {
    if (const auto whole = parseWhole(value.text(), bound.has(2) ? wholeArgument(bound[2]) : 10))
      return Value::of(*whole);
    const auto real = parseReal(value.text());
    if (!real || !std::isfinite(*real)) return fallback;
    return Value::of(*truncated(Value::of(*real)));
  }
  if (value.is(Kind::Float) && !std::isfinite(value.number)) {
    if (std::isinf(value.number)) raise("OverflowError", "cannot convert float infinity to integer");
    return fallback;
  }
  const auto whole = truncated(value);
  return whole ? Value::of(*whole) : fallback;
}

Value toFloat(Runtime&, Arguments& arguments) {
  const BoundArguments bound("do_float", arguments, {{"value", true}, {"default"}});
  const Value& value = bound[0];
  if (value.is(Kind::Undefined)) failUndefined(value);
  if (value.isNumber()) return Value::of(value.real());
  if (value.isString())
    if (const auto real = parseReal(value.text())) return Value::of(*real);
  return bound.has(1) ? bound[1] : Value::of(0.0);
}

/// Half to even, by the decimal digits of the number, as round() does.
double rounded(double value, std::int64_t digits) {
  if (!std::isfinite(value) || digits > 320) return value;
  if (digits < -320) return std::copysign(0.0, value);
  if (digits >= 0) {
    double result = value;
    const std::string text = fmt::format("{:.{}f}", value, static_cast<int>(digits));
    if (const auto parsed = parseReal(text)) result = *parsed;
    return result;
  }
  const double scale = std::pow(10.0, static_cast<double>(-digits));
  const double scaled = value / scale;
  double whole = std::round(scaled);
  if (std::abs(scaled - whole) == 0.5) whole = 2 * std::round(scaled / 2);
  return whole * scale;
}

Value round(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_round", arguments, {{"value", true}, {"precision"}, {"method"}});
  const std::string_view method = !bound.has(2) ? "common" : bound[2].isString() ? bound[2].text() : "";
  if (method != "common" && method != "ceil" && method != "floor")
    raise("FilterArgumentError", "method must be common, ceil or floor");
  const Value& value = bound[0];
  const std::int64_t precision = bound.has(1) ? wholeArgument(bound[1]) : 0;
  if (method != "common" && !value.isNumber()) {
    // Multiplied first, and then no number.
    const Value scaled = arithmetic(runtime.heap(), Operator::Mul, value, Value::of(std::int64_t{1}));
    raise("TypeError", fmt::format("must be real number, not {}", typeName(scaled)));
  }
  if (!value.isNumber()) raise("TypeError", fmt::format("type {} doesn't define __round__ method", typeName(value)));
  if (method == "common") {
    if (value.isWhole() && precision >= 0) return Value::of(value.whole());
    const double result = rounded(value.real(), precision);
    return value.isWhole() ? Value::of(static_cast<std::int64_t>(result)) : Value::of(result);
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = value.real() * scale;
  return Value::of((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
}

Value fileSize(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_filesizeformat", arguments, {{"value", true}, {"binary"}});
  const Value& value = bound[0];
  if (value.is(Kind::Undefined)) failUndefined(value);
  const auto real = value.isNumber()   ? std::optional(value.real())
                    : value.isString() ? parseReal(value.text())
                                       : std::nullopt;
  if (!real) {
    if (value.isString())
      raise("ValueError", fmt::format("could not convert string to float: {}", inQuotes(value.text())));
    raise("TypeError", fmt::format("float() argument must be a string or a real number, not '{}'", typeName(value)));
  }
  const bool binary = bound.truthOr(1, false);
  const double base = binary ? 1024 : 1000;
  Heap& heap = runtime.heap();
  if (*real == 1) return heap.string("1 Byte");
  if (*real < base) return heap.string(fmt::format("{} Bytes", static_cast<std::int64_t>(*real)));
  static constexpr const char* prefixes[] = {"k", "M", "G", "T", "P", "E", "Z", "Y"};
  double unit = base;
  for (int i = 0; i < 8; ++i) {
    unit *= base;
    if (*real < unit || i == 7)
      return heap.string(
          fmt::format("{:.1f} {}{}B", base * *real / unit, binary && i == 0 ? "K" : prefixes[i], binary ? "i" : ""));
  }
  return Value();
}

Value lengthFilter(Runtime&, Arguments& arguments) {
  const BoundArguments bound("len", arguments, {{"obj", true}});
  if (const auto length = lengthOf(bound[0])) return Value::of(*length);
  raise("TypeError", fmt::format("object of type '{}' has no len()", typeName(bound[0])));
}

/// Values on one line; the reference breaks long ones.
Value prettyPrint(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("do_pprint", arguments, {{"value", true}});
  return runtime.heap().string(represent(runtime.heap(), bound[0]));
}

constexpr NamedFilter valueTable[] = {
    {"abs", &absolute},        {"attr", &attr},          {"d", &byDefault},        {"default", &byDefault},
    {"int", &toInt},           {"float", &toFloat},      {"round", &round},        {"filesizeformat", &fileSize},
    {"length", &lengthFilter}, {"count", &lengthFilter}, {"pprint", &prettyPrint},
};

} // namespace

std::span<const NamedFilter> valueFilters() {
  return valueTable;
}

} // namespace millrace::jinja
