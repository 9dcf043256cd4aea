// Statements: what a template does. Expressions are in evaluation.cpp, calls in calls.cpp.
#include "text/jinja/interpreter.h"

#include "text/jinja/depth.h"
#include "text/jinja/fault.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::jinja {

Interpreter::Interpreter(const ParsedTemplate& parsed, Budget budget, std::int64_t longestOutput, const std::tm& now)
    : m_parsed(parsed),
      m_heap(budget),
      m_longestOutput(longestOutput),
      m_now(now),
      m_context(m_heap.make<Scope>()),
      m_root(open(m_context)),
      m_loopName(idOf("loop")),
      m_callerName(idOf("caller")),
      m_kwargsName(idOf("kwargs")),
      m_varargsName(idOf("varargs")) {
  defineGlobals(*this);
}

NameId Interpreter::idOf(std::string_view name) const {
  const auto entry = std::find(m_parsed.names.begin(), m_parsed.names.end(), name);
  return entry == m_parsed.names.end() ? -1 : static_cast<NameId>(entry - m_parsed.names.begin());
}

Scope* Interpreter::open(Scope* parent, const std::vector<NameId>& unset) {
  Scope* const scope = m_heap.make<Scope>();
  scope->parent = parent;
  for (const NameId name : unset) scope->set(name, undefinedName(name));
  return scope;
}

Value Interpreter::undefinedName(NameId name) {
  const auto index = static_cast<std::size_t>(name);
  m_undefinedNames.resize(m_parsed.names.size());
  if (!m_undefinedNames[index])
    m_undefinedNames[index] = m_heap.undefined(fmt::format("{} is undefined", inQuotes(m_parsed.names[index])));
  return *m_undefinedNames[index];
}

void Interpreter::define(std::string_view name, const Value& value) {
  if (const NameId id = idOf(name); id >= 0) m_context->set(id, value); // else nothing in the template reads it
}

void Interpreter::run() {
  for (const NameId name : m_parsed.unset) m_root->set(name, undefinedName(name));
  execute(m_parsed.body, m_root, m_output);
}

void Interpreter::append(std::string_view text, std::string& out) {
  m_heap.charge(static_cast<std::int64_t>(text.size()));
  if (static_cast<std::int64_t>(out.size() + text.size()) > m_longestOutput)
    raise("MemoryError", fmt::format("the text passes the limit of {} bytes; the template may be writing without end",
                                     m_longestOutput));
  out += text;
}

void Interpreter::print(const Value& value, std::string& out) {
  if (m_autoEscapes)
    append(escaped(m_heap, value).text(), out);
  else if (value.isString())
    append(value.text(), out);
  else
    append(toText(m_heap, value), out);
}

void Interpreter::printText(const Value& value, std::string& out) {
  if (!value.isString())
    raise("TypeError", fmt::format("sequence item 0: expected str instance, {} found", typeName(value)));
  append(value.text(), out);
}

Interpreter::Flow Interpreter::execute(const Body& body, Scope* scope, std::string& out) {
  for (const Statement& statement : body)
    if (const Flow flow = execute(statement, scope, out); flow != Flow::On) return flow;
  return Flow::On;
}

Interpreter::Flow Interpreter::execute(const Statement& statement, Scope* scope, std::string& out) {
  using Tag = Statement::Kind;
  const DepthCounter depth(m_depth);
  m_heap.step();
  m_line = statement.line;
  switch (statement.kind) {
  case Tag::Data:
    append(statement.text, out);
    return Flow::On;
  case Tag::Output:
    for (const ExpressionPtr& expression : statement.expressions) print(evaluate(*expression, scope), out);
    return Flow::On;
  case Tag::If:
    return executeIf(statement, scope, out);
  case Tag::For: {
    const Value iterable = evaluate(*statement.expressions[0], scope);
    if (statement.recursive) {
      // A recursive loop writes into a text of its own, from the first level on.
      std::string text;
      executeFor(statement, scope, text, iterable, 0);
      append(text, out);
      return Flow::On;
    }
    return executeFor(statement, scope, out, iterable, 0);
  }
  case Tag::Set:
    checkNamespaces(*statement.target, scope);
    assign(*statement.target, evaluate(*statement.expressions[0], scope), scope);
    return Flow::On;
  case Tag::SetBlock:
    return executeSetBlock(statement, scope);
  case Tag::Macro:
    scope->set(statement.name, macro(statement, scope, statement.text));
    return Flow::On;
  case Tag::CallBlock:
    executeCallBlock(statement, scope, out);
    return Flow::On;
  case Tag::Generation:
    executeGeneration(statement, scope, out);
    return Flow::On;
  case Tag::FilterBlock:
    return executeFilterBlock(statement, scope, out);
  case Tag::With:
    return executeWith(statement, scope, out);
  case Tag::AutoEscape:
    return executeAutoEscape(statement, scope, out);
  case Tag::Block:
    executeBlock(statement, scope, out);
    return Flow::On;
  case Tag::Break:
    return Flow::Break;
  case Tag::Continue:
    return Flow::Continue;
  case Tag::OtherTemplate:
    raise("TypeError", "no loader for this environment specified");
  }
  return Flow::On;
}

Interpreter::Flow Interpreter::executeIf(const Statement& statement, Scope* scope, std::string& out) {
  for (const Statement::Branch& branch : statement.branches)
    if (truth(evaluate(*branch.condition, scope))) return execute(branch.body, scope, out);
  return execute(statement.otherwise, scope, out);
}

ItemSource Interpreter::filteredItems(const Statement& statement, Scope* scope, const Value& iterable) {
  ItemSource items = iterate(m_heap, iterable);
  const Expression* const condition = statement.expressions[1].get();
  if (condition == nullptr) return items;
  return [this, &statement, scope, condition, items = std::move(items)](Value& item) {
    while (items(item)) {
      Scope* const inner = open(scope);
      assign(*statement.target, item, inner);
      if (truth(evaluate(*condition, inner))) return true;
    }
    return false;
  };
}

Interpreter::Flow Interpreter::executeFor(const Statement& statement, Scope* scope, std::string& out,
                                          const Value& iterable, std::int64_t depth) {
  auto* const loop = m_heap.make<LoopObject>();
  loop->statement = &statement;
  loop->scope = scope;
  loop->depth0 = depth;
  loop->begin(filteredItems(statement, scope, iterable), statement.expressions[1] ? std::nullopt : lengthOf(iterable));
  Value loopValue;
  loopValue.kind = Kind::Loop;
  loopValue.loop = loop;
  bool passed = false; // a pass that ends early does not count, as in the reference
  for (Value item; loop->advance(item);) {
    Scope* const inner = open(scope, statement.unset);
    if (m_loopName >= 0) inner->set(m_loopName, loopValue);
    assign(*statement.target, item, inner);
    const Flow flow = execute(statement.body, inner, out);
    if (flow == Flow::Break) break;
    passed = passed || flow == Flow::On;
  }
  // Break and continue here are those of a loop around this one.
  return passed ? Flow::On : execute(statement.otherwise, open(scope, statement.unsetOtherwise), out);
}

Interpreter::Flow Interpreter::executeSetBlock(const Statement& statement, Scope* scope) {
  std::string output;
  Scope* const inner = open(scope, statement.unset);
  if (const Flow flow = execute(statement.body, inner, output); flow != Flow::On) return flow;
  Value value = text(std::move(output));
  if (statement.expressions[0]) value = evaluateFilter(*statement.expressions[0], inner, &value);
  checkNamespaces(*statement.target, scope);
  assign(*statement.target, value, scope);
  return Flow::On;
}

Interpreter::Flow Interpreter::executeFilterBlock(const Statement& statement, Scope* scope, std::string& out) {
  std::string output;
  Scope* const inner = open(scope, statement.unset);
  if (const Flow flow = execute(statement.body, inner, output); flow != Flow::On) return flow;
  const Value value = text(std::move(output));
  printText(evaluateFilter(*statement.expressions[0], inner, &value), out);
  return Flow::On;
}

Interpreter::Flow Interpreter::executeWith(const Statement& statement, Scope* scope, std::string& out) {
  Scope* const inner = open(scope, statement.unset);
  for (std::size_t i = 0; i < statement.targets.size(); ++i)
    assign(*statement.targets[i], evaluate(*statement.expressions[i], scope), inner);
  return execute(statement.body, inner, out);
}

Interpreter::Flow Interpreter::executeAutoEscape(const Statement& statement, Scope* scope, std::string& out) {
  const bool before = m_autoEscapes;
  m_autoEscapes = truth(evaluate(*statement.expressions[0], scope));
  const Flow flow = execute(statement.body, open(scope, statement.unset), out);
  m_autoEscapes = before;
  return flow;
}

void Interpreter::executeBlock(const Statement& statement, Scope* scope, std::string& out) {
  // Sees what the top level has set so far and the variables from outside, unless it is scoped.
  Scope* const outside = open(statement.scoped ? scope : m_root);
  for (const NameId name : m_parsed.unset) {
    const Value* const given = m_context->findHere(name);
    if (given != nullptr && !statement.scoped && m_root->findHere(name)->is(Kind::Undefined))
      outside->set(name, *given);
  }
  execute(statement.body, open(outside, statement.unset), out);
}

void Interpreter::executeCallBlock(const Statement& statement, Scope* scope, std::string& out) {
  const Value caller = macro(statement, scope, "");
  printText(evaluateCall(*statement.expressions[0], scope, &caller), out);
}

void Interpreter::executeGeneration(const Statement& statement, Scope* scope, std::string& out) {
  MacroObject body;
  body.definition = &statement;
  body.scope = scope;
  Arguments none;
  const Value said = callMacro(body, none);
  // Counted from what the template itself has written: within macros and captured blocks that is not where the text
  // will stand, and the reference does the same.
  m_generated.emplace_back(m_output.size(), m_output.size() + said.text().size());
  print(said, out);
}

void Interpreter::checkNamespaces(const Expression& target, const Scope* scope) const {
  if (target.kind == Expression::Kind::NamespaceAttribute) {
    const Value* const value = scope->find(target.name);
    if (value == nullptr || !value->is(Kind::Namespace))
      raise("TemplateRuntimeError", "cannot assign attribute on non-namespace object", target.line);
  }
  for (const ExpressionPtr& part : target.parts) checkNamespaces(*part, scope);
}

void Interpreter::assign(const Expression& target, const Value& value, Scope* scope) {
  if (target.kind == Expression::Kind::Name) {
    m_heap.step();
    scope->set(target.name, value);
    return;
  }
  if (target.kind == Expression::Kind::NamespaceAttribute) {
    auto& attributes = scope->find(target.name)->ns->attributes;
    const auto entry =
        std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return a.first == target.text; });
    if (entry != attributes.end())
      entry->second = value;
    else
      attributes.emplace_back(target.text, value);
    return;
  }
  if (!isIterable(value)) raise("TypeError", fmt::format("cannot unpack non-iterable {} object", typeName(value)));
  const std::size_t wanted = target.parts.size();
  Values items;
  const ItemSource next = iterate(m_heap, value);
  Value item;
  while (items.size() < wanted && next(item)) items.push_back(item);
  if (items.size() < wanted)
    raise("ValueError", fmt::format("not enough values to unpack (expected {}, got {})", wanted, items.size()));
  if (next(item)) raise("ValueError", fmt::format("too many values to unpack (expected {})", wanted));
  for (std::size_t i = 0; i < wanted; ++i) assign(*target.parts[i], items[i], scope);
}

} // namespace millrace::jinja
