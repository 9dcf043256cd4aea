// Renders a parsed template once. Variables live in scopes that a loop's pass, a macro's call and a block open; reading
// goes outwards, writing stays inside. Everything it makes belongs to its heap. One thread.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/iteration.h"
#include "text/jinja/loop.h"
#include "text/jinja/runtime.h"

#include <string>
#include <vector>

namespace millrace::jinja {

/// Variables by name's number.
class Scope : public Object {
 public:
  const Value* findHere(NameId name) const {
    for (const auto& [id, value] : m_variables)
      if (id == name) return &value;
    return nullptr;
  }
  const Value* find(NameId name) const {
    for (const Scope* scope = this; scope != nullptr; scope = scope->parent)
      if (const Value* value = scope->findHere(name)) return value;
    return nullptr;
  }
  void set(NameId name, const Value& value) {
    for (auto& [id, old] : m_variables)
      if (id == name) {
        old = value;
        return;
      }
    m_variables.emplace_back(name, value);
  }

  Scope* parent = nullptr;

 private:
  std::vector<std::pair<NameId, Value>> m_variables;
};

class Interpreter final : public Runtime {
 public:
  /// All must outlive it. now: for strftime_now.
  Interpreter(const ParsedTemplate& parsed, Budget budget, std::int64_t longestOutput, const std::tm& now);

  /// Makes a variable of the template's.
  void define(std::string_view name, const Value& value);
  /// Renders; throws Fault. Once.
  void run();
  const std::string& output() const { return m_output; }
  /// Bytes [begin, end) of the output that generation tags wrote, in order.
  const std::vector<std::pair<std::size_t, std::size_t>>& generated() const { return m_generated; }
  /// Of what was rendered last.
  int line() const { return m_line; }

  Heap& heap() override { return m_heap; }
  bool autoEscapes() const override { return m_autoEscapes; }
  std::tm localTime() const override { return m_now; }
  Value call(const Value& callee, Arguments& arguments) override;
  Value applyFilter(const std::string& name, Arguments& arguments) override;
  Value applyTest(const std::string& name, Arguments& arguments) override;

 private:
  enum class Flow : std::uint8_t { On, Break, Continue };

  /// unset: names that are the scope's own and have no value yet.
  Scope* open(Scope* parent, const std::vector<NameId>& unset = {});
  Value undefinedName(NameId name);
  NameId idOf(std::string_view name) const;
  void append(std::string_view text, std::string& out);

  Flow execute(const Body& body, Scope* scope, std::string& out);
  Flow execute(const Statement& statement, Scope* scope, std::string& out);
  Flow executeIf(const Statement& statement, Scope* scope, std::string& out);
  Flow executeFor(const Statement& statement, Scope* scope, std::string& out, const Value& iterable,
                  std::int64_t depth);
  ItemSource filteredItems(const Statement& statement, Scope* scope, const Value& iterable);
  Flow executeSetBlock(const Statement& statement, Scope* scope);
  Flow executeFilterBlock(const Statement& statement, Scope* scope, std::string& out);
  Flow executeWith(const Statement& statement, Scope* scope, std::string& out);
  Flow executeAutoEscape(const Statement& statement, Scope* scope, std::string& out);
  void executeBlock(const Statement& statement, Scope* scope, std::string& out);
  void executeCallBlock(const Statement& statement, Scope* scope, std::string& out);
  void executeGeneration(const Statement& statement, Scope* scope, std::string& out);
  void print(const Value& value, std::string& out);
  /// What blocks write has to be text already, unlike what stands in {{ }}.
  void printText(const Value& value, std::string& out);

  void checkNamespaces(const Expression& target, const Scope* scope) const;
  void assign(const Expression& target, const Value& value, Scope* scope);

  Value evaluate(const Expression& expression, Scope* scope);
  Value evaluateName(const Expression& expression, const Scope* scope);
  Value evaluateConstant(const Expression& expression);
  Value evaluateDict(const Expression& expression, Scope* scope);
  Value evaluateItem(const Expression& expression, Scope* scope);
  Value evaluateConcat(const Expression& expression, Scope* scope);
  Value evaluateCompare(const Expression& expression, Scope* scope);
  Value evaluateConditional(const Expression& expression, Scope* scope);
  Value evaluateFilter(const Expression& expression, Scope* scope, const Value* operand = nullptr);
  Value evaluateTest(const Expression& expression, Scope* scope);
  Value evaluateCall(const Expression& expression, Scope* scope, const Value* caller = nullptr);
  Values evaluateAll(const std::vector<ExpressionPtr>& expressions, Scope* scope);
  void appendArguments(const ArgumentList& list, Scope* scope, Arguments& arguments);

  Value macro(const Statement& statement, Scope* scope, std::string name);
  Value callMacro(const MacroObject& macro, Arguments& arguments);
  Value text(std::string output);

  const ParsedTemplate& m_parsed;
  Heap m_heap;
  const std::int64_t m_longestOutput;
  const std::tm m_now;
  Scope* m_context; ///< variables from outside, and the global functions
  Scope* m_root;    ///< of the template's own top level
  const NameId m_loopName, m_callerName, m_kwargsName, m_varargsName;
  std::vector<std::optional<Value>> m_undefinedNames; ///< by NameId, made when needed
  std::string m_output;
  std::vector<std::pair<std::size_t, std::size_t>> m_generated;
  bool m_autoEscapes = false;
  int m_line = 0;
  int m_depth = 0;
};

/// Defines range, dict, namespace, cycler, joiner, raise_exception and strftime_now.
void defineGlobals(Interpreter& interpreter);

} // namespace millrace::jinja
