// The tests that stand behind `is`.
#include "text/jinja/arguments.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/iteration.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_classes.h"

#include <fmt/format.h>

namespace millrace::jinja {

namespace {

bool isDefined(const Value& value) {
  return !value.is(Kind::Undefined);
}
bool isUndefined(const Value& value) {
  return value.is(Kind::Undefined);
}
bool isNone(const Value& value) {
  return value.is(Kind::None);
}
bool isBoolean(const Value& value) {
  return value.is(Kind::Bool);
}
bool isTrue(const Value& value) {
  return value.is(Kind::Bool) && value.boolean;
}
bool isFalse(const Value& value) {
  return value.is(Kind::Bool) && !value.boolean;
}
bool isInteger(const Value& value) {
  return value.is(Kind::Int);
}
bool isFloat(const Value& value) {
  return value.is(Kind::Float);
}
bool isString(const Value& value) {
  return value.isString();
}
bool isMapping(const Value& value) {
  return value.is(Kind::Dict);
}
bool isNumber(const Value& value) {
  return value.isNumber();
}
bool isSequence(const Value& value) {
  // What has a length and items by number or key; undefined values have both.
  return value.isString() || value.is(Kind::List) || value.is(Kind::Tuple) || value.is(Kind::Dict) ||
         value.is(Kind::Range) || value.is(Kind::Undefined);
}
bool isCallable(const Value& value) {
  return value.is(Kind::Function) || value.is(Kind::Macro) || value.is(Kind::Loop) || value.is(Kind::Joiner) ||
         value.is(Kind::Undefined);
}
bool isEscaped(const Value& value) {
  return value.isString() && value.markup;
}

template <bool (*predicate)(const Value&)>
Value simple(Runtime&, Arguments& arguments) {
  const BoundArguments bound("the test", arguments, {{"value", true}});
  return Value::of(predicate(bound[0]));
}

template <std::int64_t remainder>
Value parity(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound(remainder == 1 ? "test_odd" : "test_even", arguments, {{"value", true}});
  const Value rest = arithmetic(runtime.heap(), Operator::Mod, bound[0], Value::of(std::int64_t{2}));
  return Value::of(equal(runtime.heap(), rest, Value::of(remainder)));
}

Value divisibleBy(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("test_divisibleby", arguments, {{"value", true}, {"num", true}});
  const Value rest = arithmetic(runtime.heap(), Operator::Mod, bound[0], bound[1]);
  return Value::of(equal(runtime.heap(), rest, Value::of(std::int64_t{0})));
}

template <bool (*predicate)(std::string_view)>
Value cased(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("the test", arguments, {{"value", true}});
  return Value::of(predicate(toText(runtime.heap(), bound[0])));
}

template <FilterFunction (*finder)(std::string_view)>
Value isKnown(Runtime&, Arguments& arguments) {
  const BoundArguments bound("the test", arguments, {{"value", true}}, 1);
  if (bound[0].is(Kind::List) || bound[0].is(Kind::Dict))
    raise("TypeError", fmt::format("unhashable type: '{}'", typeName(bound[0])));
  return Value::of(bound[0].isString() && finder(bound[0].text()) != nullptr);
}

Value sameAs(Runtime&, Arguments& arguments) {
  const BoundArguments bound("test_sameas", arguments, {{"value", true}, {"other", true}});
  const Value& a = bound[0];
  const Value& b = bound[1];
  if (a.kind != b.kind) return Value::of(false);
  if (a.is(Kind::None)) return Value::of(true);
  if (a.is(Kind::Bool)) return Value::of(a.boolean == b.boolean);
  if (a.isString() && a.text().size() <= 1) return Value::of(a.text() == b.text()); // Python keeps these once
  return Value::of(a.integer == b.integer);                                         // the same object, or small number
}

Value in(Runtime& runtime, Arguments& arguments) {
  const BoundArguments bound("test_in", arguments, {{"value", true}, {"seq", true}});
  return Value::of(contains(runtime.heap(), bound[1], bound[0]));
}

template <Operator op>
Value compared(Runtime& runtime, Arguments& arguments) {
  constexpr const char* name = op == Operator::Eq   ? "eq"
                               : op == Operator::Ne ? "ne"
                               : op == Operator::Lt ? "lt"
                               : op == Operator::Le ? "le"
                               : op == Operator::Gt ? "gt"
                                                    : "ge";
  if (!arguments.named.empty()) raise("TypeError", fmt::format("_operator.{}() takes no keyword arguments", name));
  if (arguments.positional.size() != 2)
    raise("TypeError", fmt::format("{} expected 2 arguments, got {}", name, arguments.positional.size()));
  return Value::of(compare(runtime.heap(), op, arguments.positional[0], arguments.positional[1]));
}

constexpr NamedFilter testTable[] = {
    {"defined", &simple<&isDefined>},
    {"undefined", &simple<&isUndefined>},
    {"none", &simple<&isNone>},
    {"boolean", &simple<&isBoolean>},
    {"true", &simple<&isTrue>},
    {"false", &simple<&isFalse>},
    {"integer", &simple<&isInteger>},
    {"float", &simple<&isFloat>},
    {"string", &simple<&isString>},
    {"mapping", &simple<&isMapping>},
    {"number", &simple<&isNumber>},
    {"sequence", &simple<&isSequence>},
    {"iterable", &simple<&isIterable>},
    {"callable", &simple<&isCallable>},
    {"escaped", &simple<&isEscaped>},
    {"odd", &parity<1>},
    {"even", &parity<0>},
    {"divisibleby", &divisibleBy},
    {"lower", &cased<&isLower>},
    {"upper", &cased<&isUpper>},
    {"filter", &isKnown<&findFilter>},
    {"test", &isKnown<&findTest>},
    {"sameas", &sameAs},
    {"in", &in},
    {"==", &compared<Operator::Eq>},
    {"eq", &compared<Operator::Eq>},
    {"equalto", &compared<Operator::Eq>},
    {"!=", &compared<Operator::Ne>},
    {"ne", &compared<Operator::Ne>},
    {">", &compared<Operator::Gt>},
    {"gt", &compared<Operator::Gt>},
    {"greaterthan", &compared<Operator::Gt>},
    {">=", &compared<Operator::Ge>},
    {"ge", &compared<Operator::Ge>},
    {"<", &compared<Operator::Lt>},
    {"lt", &compared<Operator::Lt>},
    {"lessthan", &compared<Operator::Lt>},
    {"<=", &compared<Operator::Le>},
    {"le", &compared<Operator::Le>},
};

} // namespace

FilterFunction findTest(std::string_view name) {
  for (const NamedFilter& entry : testTable)
    if (entry.name == name) return entry.filter;
  return nullptr;
}

} // namespace millrace::jinja
