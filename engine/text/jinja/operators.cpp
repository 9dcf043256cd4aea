#include "text/jinja/operators.h"

#include "text/jinja/fault.h"
#include "text/jinja/iteration.h"
#include "text/jinja/percent_format.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_ops.h"
#include "text/jinja/wide.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace millrace::jinja {

namespace {

constexpr std::array<const char*, 15> spellings = {
    "+", "-", "*", "/", "//", "%", "** or pow()", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};

const char* spelling(Operator op) {
  return spellings[static_cast<std::size_t>(op)];
}

[[noreturn]] void unsupported(Operator op, const Value& a, const Value& b) {
  raise("TypeError",
        fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", spelling(op), typeName(a), typeName(b)));
}

std::int64_t bounded(Wide value) {
  if (value > INT64_MAX || value < INT64_MIN) raise("OverflowError", "whole numbers beyond 64 bits are not supported");
  return static_cast<std::int64_t>(value);
}

std::int64_t floorDivided(std::int64_t a, std::int64_t b) {
  if (b == -1) return bounded(-static_cast<Wide>(a));
  const std::int64_t quotient = a / b;
  return quotient - (a % b != 0 && ((a < 0) != (b < 0)) ? 1 : 0);
}

std::int64_t floorRemainder(std::int64_t a, std::int64_t b) {
  if (b == -1) return 0;
  const std::int64_t rest = a % b;
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

Value power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 0) raise("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    return Value::of(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  Wide result = 1;
  if (base == 0 || base == 1) return Value::of(exponent == 0 ? std::int64_t{1} : base);
  if (base == -1) return Value::of(exponent % 2 == 0 ? std::int64_t{1} : std::int64_t{-1});
  for (std::int64_t i = 0; i < exponent; ++i) result = bounded(result * base); // ends after 63 rounds
  return Value::of(bounded(result));
}

Value wholeArithmetic(Operator op, std::int64_t a, std::int64_t b) {
  switch (op) {
  case Operator::Add:
    return Value::of(bounded(static_cast<Wide>(a) + b));
  case Operator::Sub:
    return Value::of(bounded(static_cast<Wide>(a) - b));
  case Operator::Mul:
    return Value::of(bounded(static_cast<Wide>(a) * b));
  case Operator::Div:
    if (b == 0) raise("ZeroDivisionError", "division by zero");
    return Value::of(static_cast<double>(a) / static_cast<double>(b));
  case Operator::FloorDiv:
    if (b == 0) raise("ZeroDivisionError", "integer division or modulo by zero");
    return Value::of(floorDivided(a, b));
  case Operator::Mod:
    if (b == 0) raise("ZeroDivisionError", "integer modulo by zero");
    return Value::of(floorRemainder(a, b));
  default:
    return power(a, b);
  }
}

double floatRemainder(double a, double b) {
  double rest = std::fmod(a, b);
  if (rest != 0) {
    if ((rest < 0) != (b < 0)) rest += b;
  } else {
    rest = std::copysign(0.0, b);
  }
  return rest;
}

double floatFloorDivided(double a, double b) {
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && ((rest < 0) != (b < 0))) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floored = std::floor(quotient);
  return quotient - floored > 0.5 ? floored + 1 : floored;
}

Value floatArithmetic(Operator op, double a, double b) {
  switch (op) {
  case Operator::Add:
    return Value::of(a + b);
  case Operator::Sub:
    return Value::of(a - b);
  case Operator::Mul:
    return Value::of(a * b);
  case Operator::Div:
    if (b == 0) raise("ZeroDivisionError", "float division by zero");
    return Value::of(a / b);
  case Operator::FloorDiv:
    if (b == 0) raise("ZeroDivisionError", "float floor division by zero");
    return Value::of(floatFloorDivided(a, b));
  case Operator::Mod:
    if (b == 0) raise("ZeroDivisionError", "float modulo");
    return Value::of(floatRemainder(a, b));
  default: {
    if (a == 0 && b < 0) raise("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    const double result = std::pow(a, b);
    if (std::isnan(result) && !std::isnan(a) && !std::isnan(b)) raise("TypeError", "complex numbers are not supported");
    if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
      raise("OverflowError", "(34, 'Numerical result out of range')");
    return Value::of(result);
  }
  }
}

bool isSequence(const Value& value) {
  return value.isString() || value.is(Kind::List) || value.is(Kind::Tuple);
}

Value repeated(Heap& heap, const Value& sequence, std::int64_t times) {
  const std::int64_t count = std::max<std::int64_t>(times, 0);
  if (sequence.isString()) {
    const std::string_view text = sequence.text();
    if (!text.empty() && count > 0) heap.charge(bounded(static_cast<Wide>(text.size()) * count));
    std::string result;
    for (std::int64_t i = 0; i < count && !text.empty(); ++i) result += text;
    return heap.string(std::move(result), sequence.markup);
  }
  const Values& items = sequence.list->items;
  if (!items.empty() && count > 0)
    heap.charge(bounded(static_cast<Wide>(items.size()) * count * static_cast<int>(sizeof(Value))));
  Values result;
  for (std::int64_t i = 0; i < count && !items.empty(); ++i) result.insert(result.end(), items.begin(), items.end());
  return sequence.is(Kind::List) ? heap.list(std::move(result)) : heap.tuple(std::move(result));
}

Value added(Heap& heap, const Value& a, const Value& b) {
  if (a.isString() && b.isString()) {
    const bool markup = a.markup || b.markup;
    const Value left = markup ? escaped(heap, a) : a;
    const Value right = markup ? escaped(heap, b) : b;
    std::string text;
    text.reserve(left.text().size() + right.text().size());
    text += left.text();
    text += right.text();
    return heap.string(std::move(text), markup);
  }
  if (a.kind == b.kind && (a.is(Kind::List) || a.is(Kind::Tuple))) {
    Values items = a.list->items;
    items.insert(items.end(), b.list->items.begin(), b.list->items.end());
    return a.is(Kind::List) ? heap.list(std::move(items)) : heap.tuple(std::move(items));
  }
  if (isSequence(a))
    raise("TypeError", a.markup
                           ? fmt::format("unsupported operand type(s) for +: 'Markup' and '{}'", typeName(b))
                           : fmt::format("can only concatenate {0} (not \"{1}\") to {0}", typeName(a), typeName(b)));
  unsupported(Operator::Add, a, b);
}

/// a < b where neither is undefined; op names the comparison in the error.
bool ordered(Heap& heap, Operator op, const Value& a, const Value& b) {
  heap.step();
  if (a.isNumber() && b.isNumber()) {
    if (a.isWhole() && b.isWhole()) {
      const std::int64_t x = a.whole(), y = b.whole();
      return op == Operator::Lt ? x < y : op == Operator::Le ? x <= y : op == Operator::Gt ? x > y : x >= y;
    }
    const double x = a.real(), y = b.real();
    return op == Operator::Lt ? x < y : op == Operator::Le ? x <= y : op == Operator::Gt ? x > y : x >= y;
  }
  if (a.isString() && b.isString()) {
    heap.step(static_cast<std::int64_t>(std::min(a.text().size(), b.text().size()) / 64));
    const int order = a.text().compare(b.text()); // of bytes, which is that of code points
    return op == Operator::Lt   ? order < 0
           : op == Operator::Le ? order <= 0
           : op == Operator::Gt ? order > 0
                                : order >= 0;
  }
  if (a.kind == b.kind && (a.is(Kind::List) || a.is(Kind::Tuple))) {
    const Values& x = a.list->items;
    const Values& y = b.list->items;
    std::size_t i = 0;
    while (i < x.size() && i < y.size() && equal(heap, x[i], y[i])) ++i;
    if (i < x.size() && i < y.size()) return compare(heap, op, x[i], y[i]);
    return op == Operator::Lt   ? x.size() < y.size()
           : op == Operator::Le ? x.size() <= y.size()
           : op == Operator::Gt ? x.size() > y.size()
                                : x.size() >= y.size();
  }
  raise("TypeError",
        fmt::format("'{}' not supported between instances of '{}' and '{}'", spelling(op), typeName(a), typeName(b)));
}

} // namespace

void failUndefined(const Value& value) {
  raise(value.undefined->unsafe ? "SecurityError" : "UndefinedError", value.undefined->message);
}

void noAttribute(const Value& value, std::string_view name) {
  if (value.is(Kind::Undefined)) failUndefined(value);
  raise("AttributeError", fmt::format("'{}' object has no attribute '{}'", typeName(value), name));
}

Value arithmetic(Heap& heap, Operator op, const Value& a, const Value& b) {
  if (a.is(Kind::Undefined) && !(b.markup && op == Operator::Add)) failUndefined(a);
  if (op == Operator::Mod && a.isString()) return percentFormatted(heap, a, b);
  if (b.is(Kind::Undefined)) failUndefined(b);
  if (a.isNumber() && b.isNumber())
    return a.isWhole() && b.isWhole() ? wholeArithmetic(op, a.whole(), b.whole())
                                      : floatArithmetic(op, a.real(), b.real());
  if (op == Operator::Add) return added(heap, a, b);
  if (op == Operator::Mul) {
    if (isSequence(a) && b.isWhole()) return repeated(heap, a, b.whole());
    if (a.isWhole() && isSequence(b)) return repeated(heap, b, a.whole());
    if (isSequence(a) || isSequence(b))
      raise("TypeError",
            fmt::format("can't multiply sequence by non-int of type '{}'", typeName(isSequence(a) ? b : a)));
  }
  unsupported(op, a, b);
}

Value negative(const Value& value) {
  if (value.is(Kind::Undefined)) failUndefined(value);
  if (value.isWhole()) return Value::of(bounded(-static_cast<Wide>(value.whole())));
  if (value.is(Kind::Float)) return Value::of(-value.number);
  raise("TypeError", fmt::format("bad operand type for unary -: '{}'", typeName(value)));
}

Value positive(const Value& value) {
  if (value.is(Kind::Undefined)) failUndefined(value);
  if (value.isWhole()) return Value::of(value.whole());
  if (value.is(Kind::Float)) return value;
  raise("TypeError", fmt::format("bad operand type for unary +: '{}'", typeName(value)));
}

bool compare(Heap& heap, Operator op, const Value& a, const Value& b) {
  switch (op) {
  case Operator::Eq:
    return equal(heap, a, b);
  case Operator::Ne:
    return !equal(heap, a, b);
  case Operator::In:
    return contains(heap, b, a);
  case Operator::NotIn:
    return !contains(heap, b, a);
  default:
    if (a.is(Kind::Undefined)) failUndefined(a);
    if (b.is(Kind::Undefined)) failUndefined(b);
    return ordered(heap, op, a, b);
  }
}

bool less(Heap& heap, const Value& a, const Value& b) {
  return compare(heap, Operator::Lt, a, b);
}

bool contains(Heap& heap, const Value& container, const Value& item) {
  switch (container.kind) {
  case Kind::String:
    if (!item.isString())
      raise("TypeError", fmt::format("'in <string>' requires string as left operand, not {}", typeName(item)));
    heap.step(static_cast<std::int64_t>(container.text().size() / 64));
    return findText(container.text(), item.text(), 0) != std::string_view::npos;
  case Kind::Dict:
    return find(heap, *container.dict, item) != nullptr;
  case Kind::DictView:
    if (container.view->part == DictViewObject::Part::AllKeys)
      return find(heap, *container.view->dict, item) != nullptr;
    break;
  default:
    if (!isIterable(container))
      raise("TypeError", fmt::format("argument of type '{}' is not iterable", typeName(container)));
  }
  const ItemSource next = iterate(heap, container);
  for (Value candidate; next(candidate);)
    if (equal(heap, candidate, item)) return true;
  return false;
}

Value escaped(Heap& heap, const Value& value) {
  if (value.isString() && value.markup) return value;
  std::string text;
  for (const char c : toText(heap, value)) {
    switch (c) {
    case '&':
      text += "&amp;";
      break;
    case '<':
      text += "&lt;";
      break;
    case '>':
      text += "&gt;";
      break;
    case '\'':
      text += "&#39;";
      break;
    case '"':
      text += "&#34;";
      break;
    default:
      text += c;
    }
  }
  return heap.string(std::move(text), true);
}

} // namespace millrace::jinja
