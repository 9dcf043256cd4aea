// Calls of functions and macros.
#include "text/jinja/depth.h"
#include "text/jinja/fault.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/operators.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

void Interpreter::appendArguments(const ArgumentList& list, Scope* scope, Arguments& arguments) {
  for (const ExpressionPtr& argument : list.positional) arguments.positional.push_back(evaluate(*argument, scope));
  // In the order in which Python evaluates them.
  std::optional<Value> star;
  if (list.star) star = evaluate(*list.star, scope);
  for (const auto& [name, argument] : list.named) arguments.named.emplace_back(name, evaluate(*argument, scope));
  if (star) {
    if (!isIterable(*star))
      raise("TypeError", fmt::format("Value after * must be an iterable, not {}", typeName(*star)));
    for (const Value& item : collect(m_heap, *star)) arguments.positional.push_back(item);
  }
  if (!list.doubleStar) return;
  const Value rest = evaluate(*list.doubleStar, scope);
  if (!rest.is(Kind::Dict))
    raise("TypeError", fmt::format("argument after ** must be a mapping, not {}", typeName(rest)));
  for (const auto& [key, value] : rest.dict->items) {
    if (!key.isString()) raise("TypeError", "keywords must be strings");
    const bool known = std::any_of(arguments.named.begin(), arguments.named.end(),
                                   [&, &name = key](const auto& entry) { return entry.first == name.text(); });
    if (known) raise("TypeError", fmt::format("got multiple values for keyword argument {}", inQuotes(key.text())));
    arguments.named.emplace_back(std::string(key.text()), value);
  }
}

Value Interpreter::evaluateCall(const Expression& expression, Scope* scope, const Value* caller) {
  const Value callee = evaluate(*expression.parts[0], scope);
  Arguments arguments;
  appendArguments(expression.arguments, scope, arguments);
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  m_line = expression.line;
  return call(callee, arguments);
}

Value Interpreter::call(const Value& callee, Arguments& arguments) {
  const DepthCounter depth(m_depth);
  m_heap.step();
  switch (callee.kind) {
  case Kind::Undefined:
    failUndefined(callee);
  case Kind::Function:
    return callee.function->call(*this, arguments);
  case Kind::Macro:
    return callMacro(*callee.macro, arguments);
  case Kind::Joiner: {
    JoinerObject& joiner = *callee.joiner;
    return m_heap.string(std::exchange(joiner.used, true) ? joiner.separator : "");
  }
  case Kind::Loop: {
    const LoopObject& loop = *callee.loop;
    if (!loop.statement->recursive)
      raise("TypeError", "The loop must have the 'recursive' marker to be called recursively.");
    if (arguments.positional.size() != 1 || !arguments.named.empty())
      raise("TypeError", "loop() takes what to go through and nothing else");
    std::string output;
    executeFor(*loop.statement, loop.scope, output, arguments.positional[0], loop.depth0 + 1);
    return text(std::move(output));
  }
  default:
    raise("TypeError", fmt::format("'{}' object is not callable", typeName(callee)));
  }
}

Value Interpreter::macro(const Statement& statement, Scope* scope, std::string name) {
  auto* const object = m_heap.make<MacroObject>();
  object->definition = &statement;
  object->scope = scope;
  object->name = std::move(name);
  Value value;
  value.kind = Kind::Macro;
  value.macro = object;
  return value;
}

Value Interpreter::text(std::string output) {
  return m_heap.string(std::move(output), m_autoEscapes);
}

Value Interpreter::callMacro(const MacroObject& macro, Arguments& arguments) {
  const Statement& definition = *macro.definition;
  const std::string name = macro.name.empty() ? "None" : inQuotes(macro.name);
  const std::size_t count = definition.parameters.size();
  auto& named = arguments.named;
  const auto take = [&](std::string_view wanted) -> std::optional<Value> {
    const auto entry = std::find_if(named.begin(), named.end(), [&](const auto& e) { return e.first == wanted; });
    if (entry == named.end()) return std::nullopt;
    const Value value = entry->second;
    named.erase(entry);
    return value;
  };
  Scope* const inner = open(macro.scope, definition.unset);
  std::vector<bool> missing(count);
  bool callerIsParameter = false;
  for (std::size_t i = 0; i < count; ++i) {
    const Statement::Parameter& parameter = definition.parameters[i];
    callerIsParameter = callerIsParameter || parameter.text == "caller";
    const auto value = i < arguments.positional.size() ? std::optional(arguments.positional[i]) : take(parameter.text);
    missing[i] = !value;
    inner->set(parameter.name,
               value ? *value : m_heap.undefined(fmt::format("{} is undefined", inQuotes(parameter.text))));
  }
  if (definition.usesCaller && !callerIsParameter) {
    const auto caller = take("caller");
    inner->set(m_callerName, caller && !caller->is(Kind::None) ? *caller : m_heap.undefined("No caller defined"));
  }
  if (definition.usesKwargs) {
    std::vector<std::pair<Value, Value>> rest;
    for (const auto& [key, value] : named) rest.emplace_back(m_heap.string(key), value);
    inner->set(m_kwargsName, m_heap.dict(std::move(rest)));
  } else if (!named.empty()) {
    const bool caller =
        std::any_of(named.begin(), named.end(), [](const auto& entry) { return entry.first == "caller"; });
    raise("TypeError",
          caller
              ? fmt::format(
                    "macro {} was invoked with two values for the special caller argument. This is most likely a bug.",
                    name)
              : fmt::format("macro {} takes no keyword argument {}", name, inQuotes(named.front().first)));
  }
  const std::size_t given = arguments.positional.size();
  if (definition.usesVarargs) {
    Values rest(arguments.positional.begin() + static_cast<std::ptrdiff_t>(std::min(count, given)),
                arguments.positional.end());
    inner->set(m_varargsName, m_heap.tuple(std::move(rest)));
  } else if (given > count) {
    raise("TypeError", fmt::format("macro {} takes not more than {} argument(s)", name, count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Statement::Parameter& parameter = definition.parameters[i];
    if (!missing[i]) continue;
    inner->set(parameter.name, parameter.byDefault ? evaluate(*parameter.byDefault, inner)
                                                   : m_heap.undefined(fmt::format("parameter {} was not provided",
                                                                                  inQuotes(parameter.text))));
  }
  std::string output;
  execute(definition.body, inner, output);
  return text(std::move(output));
}

} // namespace millrace::jinja
