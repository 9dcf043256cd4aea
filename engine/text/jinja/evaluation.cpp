// Expressions.
#include "text/jinja/access.h"
#include "text/jinja/depth.h"
#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

Value Interpreter::evaluate(const Expression& expression, Scope* scope) {
  using Node = Expression::Kind;
  const DepthCounter depth(m_depth);
  m_heap.step();
  const auto part = [&](std::size_t i) { return evaluate(*expression.parts[i], scope); };
  switch (expression.kind) {
  case Node::Constant:
    return evaluateConstant(expression);
  case Node::Name:
    return evaluateName(expression, scope);
  case Node::List:
    return m_heap.list(evaluateAll(expression.parts, scope));
  case Node::Tuple:
    return m_heap.tuple(evaluateAll(expression.parts, scope));
  case Node::Dict:
    return evaluateDict(expression, scope);
  case Node::Attribute:
    return attribute(m_heap, part(0), expression.text);
  case Node::Item:
    return evaluateItem(expression, scope);
  case Node::Call:
    return evaluateCall(expression, scope);
  case Node::Filter:
    return evaluateFilter(expression, scope);
  case Node::Test:
    return evaluateTest(expression, scope);
  case Node::Not:
    return Value::of(!truth(part(0)));
  case Node::Negative:
    return negative(part(0));
  case Node::Positive:
    return positive(part(0));
  case Node::Binary: {
    const Value left = part(0);
    const Value right = part(1);
    m_line = expression.line;
    return arithmetic(m_heap, expression.operators[0], left, right);
  }
  case Node::Concat:
    return evaluateConcat(expression, scope);
  case Node::And: {
    const Value left = part(0);
    return truth(left) ? part(1) : left;
  }
  case Node::Or: {
    const Value left = part(0);
    return truth(left) ? left : part(1);
  }
  case Node::Compare:
    return evaluateCompare(expression, scope);
  case Node::Conditional:
    return evaluateConditional(expression, scope);
  case Node::NamespaceAttribute: // targets alone
    break;
  case Node::Slice:
    raise("TypeError", "a slice is no value of its own, and only one can stand in brackets", expression.line);
  }
  return Value();
}

Value Interpreter::evaluateName(const Expression& expression, const Scope* scope) {
  if (const Value* value = scope->find(expression.name)) return *value;
  return m_heap.undefined(fmt::format("{} is undefined", inQuotes(expression.text)));
}

Value Interpreter::evaluateConstant(const Expression& expression) {
  const auto& constant = expression.constant;
  if (const auto* boolean = std::get_if<bool>(&constant)) return Value::of(*boolean);
  if (const auto* whole = std::get_if<std::int64_t>(&constant)) return Value::of(*whole);
  if (const auto* number = std::get_if<double>(&constant)) return Value::of(*number);
  if (const auto* text = std::get_if<std::string>(&constant)) return m_heap.string(*text);
  return Value();
}

Values Interpreter::evaluateAll(const std::vector<ExpressionPtr>& expressions, Scope* scope) {
  Values values;
  values.reserve(expressions.size());
  for (const ExpressionPtr& expression : expressions) values.push_back(evaluate(*expression, scope));
  return values;
}

Value Interpreter::evaluateDict(const Expression& expression, Scope* scope) {
  const Values parts = evaluateAll(expression.parts, scope);
  std::vector<std::pair<Value, Value>> items;
  for (std::size_t i = 0; i + 1 < parts.size(); i += 2) items.emplace_back(parts[i], parts[i + 1]);
  return m_heap.dict(std::move(items));
}

Value Interpreter::evaluateItem(const Expression& expression, Scope* scope) {
  const Value object = evaluate(*expression.parts[0], scope);
  const Expression& key = *expression.parts[1];
  if (key.kind != Expression::Kind::Slice) {
    const Value value = evaluate(key, scope);
    m_line = expression.line;
    return item(m_heap, object, value);
  }
  const auto bound = [&](std::size_t i) { return key.parts[i] ? evaluate(*key.parts[i], scope) : Value(); };
  const Value start = bound(0), stop = bound(1), step = bound(2);
  return slice(m_heap, object, start, stop, step);
}

Value Interpreter::evaluateConcat(const Expression& expression, Scope* scope) {
  const Values parts = evaluateAll(expression.parts, scope);
  const bool markup =
      m_autoEscapes && std::any_of(parts.begin(), parts.end(), [](const Value& v) { return v.isString() && v.markup; });
  std::string text;
  for (const Value& part : parts) appendText(m_heap, markup ? escaped(m_heap, part) : part, text);
  return m_heap.string(std::move(text), markup);
}

Value Interpreter::evaluateCompare(const Expression& expression, Scope* scope) {
  Value left = evaluate(*expression.parts[0], scope);
  for (std::size_t i = 0; i < expression.operators.size(); ++i) {
    const Value right = evaluate(*expression.parts[i + 1], scope);
    m_line = expression.line;
    if (!compare(m_heap, expression.operators[i], left, right)) return Value::of(false);
    left = right;
  }
  return Value::of(true);
}

Value Interpreter::evaluateConditional(const Expression& expression, Scope* scope) {
  if (truth(evaluate(*expression.parts[0], scope))) return evaluate(*expression.parts[1], scope);
  if (expression.parts[2]) return evaluate(*expression.parts[2], scope);
  return m_heap.undefined(fmt::format(
      "the inline if-expression on line {} evaluated to false and no else section was defined.", expression.line));
}

Value Interpreter::evaluateFilter(const Expression& expression, Scope* scope, const Value* operand) {
  // A chain of filters on a block starts at the block's text.
  const Expression* const inner = expression.parts[0].get();
  Arguments arguments;
  arguments.positional.push_back(inner == nullptr     ? *operand
                                 : operand != nullptr ? evaluateFilter(*inner, scope, operand)
                                                      : evaluate(*inner, scope));
  appendArguments(expression.arguments, scope, arguments);
  m_line = expression.line;
  const FilterFunction filter = findFilter(expression.text);
  if (filter == nullptr)
    raise("TemplateRuntimeError", fmt::format("No filter named {} found.", inQuotes(expression.text)));
  return filter(*this, arguments);
}

Value Interpreter::evaluateTest(const Expression& expression, Scope* scope) {
  Arguments arguments;
  arguments.positional.push_back(evaluate(*expression.parts[0], scope));
  appendArguments(expression.arguments, scope, arguments);
  m_line = expression.line;
  const FilterFunction test = findTest(expression.text);
  if (test == nullptr) raise("TemplateRuntimeError", fmt::format("No test named {} found.", inQuotes(expression.text)));
  return test(*this, arguments);
}

Value Interpreter::applyFilter(const std::string& name, Arguments& arguments) {
  const DepthCounter depth(m_depth);
  m_heap.step();
  const FilterFunction filter = findFilter(name);
  if (filter == nullptr) raise("TemplateRuntimeError", fmt::format("No filter named {}.", inQuotes(name)));
  return filter(*this, arguments);
}

Value Interpreter::applyTest(const std::string& name, Arguments& arguments) {
  const DepthCounter depth(m_depth);
  m_heap.step();
  const FilterFunction test = findTest(name);
  if (test == nullptr) raise("TemplateRuntimeError", fmt::format("No test named {}.", inQuotes(name)));
  return test(*this, arguments);
}

} // namespace millrace::jinja
