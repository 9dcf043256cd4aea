#include "text/jinja/unset_names.h"

#include <map>
#include <set>

namespace millrace::jinja {

namespace {

/// The names of one scope, as they are met in the order of the source.
class Names {
 public:
  explicit Names(const Names* parent) : m_parent(parent) {}

  bool knows(NameId name) const {
    for (const Names* scope = this; scope != nullptr; scope = scope->m_parent)
      if (scope->m_unset.count(name) > 0) return true;
    return false;
  }
  void read(NameId name) {
    if (!knows(name)) m_unset[name] = false; // looked up outside
  }
  void parameter(NameId name) {
    m_stored.insert(name);
    m_unset[name] = false;
  }
  void set(NameId name) {
    m_stored.insert(name);
    if (m_unset.count(name) > 0) return;
    // Where a scope around this one has it, that value is what it begins with.
    m_unset[name] = m_parent == nullptr || !m_parent->knows(name);
  }
  /// What the branches of an if leave: what only they set is looked up outside until then.
  void merge(const std::vector<Names>& branches) {
    std::set<NameId> stored;
    for (const Names& branch : branches) stored.insert(branch.m_stored.begin(), branch.m_stored.end());
    for (const NameId name : m_stored) stored.erase(name);
    for (const Names& branch : branches) {
      for (const auto& [name, unset] : branch.m_unset) m_unset[name] = unset;
      m_stored.insert(branch.m_stored.begin(), branch.m_stored.end());
    }
    for (const NameId name : stored) m_unset[name] = false;
  }
  std::vector<NameId> unset() const {
    std::vector<NameId> list;
    for (const auto& [name, unset] : m_unset)
      if (unset) list.push_back(name);
    return list;
  }

 private:
  const Names* m_parent;
  std::map<NameId, bool> m_unset; ///< whether it is unset when the scope begins
  std::set<NameId> m_stored;
};

using ExpressionKind = Expression::Kind;
using StatementKind = Statement::Kind;

void visit(const ExpressionPtr& expression, Names& names) {
  if (!expression) return;
  if (expression->kind == ExpressionKind::Name || expression->kind == ExpressionKind::NamespaceAttribute)
    names.read(expression->name);
  for (const auto& part : expression->parts) visit(part, names);
  for (const auto& argument : expression->arguments.positional) visit(argument, names);
  for (const auto& [key, argument] : expression->arguments.named) visit(argument, names);
  visit(expression->arguments.star, names);
  visit(expression->arguments.doubleStar, names);
}

void visitTarget(const ExpressionPtr& target, Names& names, bool parameter) {
  if (target->kind == ExpressionKind::NamespaceAttribute) names.read(target->name);
  if (target->kind == ExpressionKind::Name) parameter ? names.parameter(target->name) : names.set(target->name);
  for (const auto& part : target->parts) visitTarget(part, names, parameter);
}

void visit(const Body& body, Names& names);

/// What a statement reads and sets in the scope it stands in; bodies with a scope of their own are left out.
void visit(const Statement& s, Names& names) {
  switch (s.kind) {
  case StatementKind::If: {
    std::vector<Names> branches;
    // Conditions behind the first one belong to the branch of all elifs.
    visit(s.branches[0].condition, names);
    branches.push_back(names);
    visit(s.branches[0].body, branches.back());
    branches.push_back(names);
    for (std::size_t i = 1; i < s.branches.size(); ++i) {
      Names& elifs = branches[1];
      visit(s.branches[i].condition, elifs);
      Names inner = elifs;
      visit(s.branches[i].body, inner);
      elifs.merge({inner});
    }
    branches.push_back(names);
    visit(s.otherwise, branches.back());
    names.merge(branches);
    return;
  }
  case StatementKind::Macro:
    names.set(s.name);
    return;
  case StatementKind::Set:
    visit(s.expressions[0], names);
    visitTarget(s.target, names, false);
    return;
  case StatementKind::SetBlock:
    visitTarget(s.target, names, false);
    return;
  case StatementKind::For:
    visit(s.expressions[0], names);
    return;
  case StatementKind::AutoEscape:
  case StatementKind::Block:
    return;
  default:
    for (const auto& expression : s.expressions) visit(expression, names);
  }
}

void visit(const Body& body, Names& names) {
  for (const Statement& statement : body) visit(statement, names);
}

void resolve(Body& body, const Names& names);

/// The scopes that a statement opens.
void resolve(Statement& s, const Names& names) {
  Names inner(s.kind == StatementKind::Block ? nullptr : &names); // blocks stand alone
  switch (s.kind) {
  case StatementKind::If:
    for (Statement::Branch& branch : s.branches) resolve(branch.body, names);
    resolve(s.otherwise, names);
    return;
  case StatementKind::For: {
    visitTarget(s.target, inner, true);
    Names otherwise(&names);
    visit(s.otherwise, otherwise);
    s.unsetOtherwise = otherwise.unset();
    resolve(s.otherwise, otherwise);
    break;
  }
  case StatementKind::Macro:
  case StatementKind::CallBlock:
  case StatementKind::Generation:
    for (const Statement::Parameter& parameter : s.parameters) inner.parameter(parameter.name);
    for (const Statement::Parameter& parameter : s.parameters) visit(parameter.byDefault, inner);
    break;
  case StatementKind::With:
    for (const auto& target : s.targets) visitTarget(target, inner, true);
    break;
  case StatementKind::FilterBlock:
  case StatementKind::SetBlock:
  case StatementKind::AutoEscape:
  case StatementKind::Block:
    break;
  default:
    return;
  }
  visit(s.body, inner);
  s.unset = inner.unset();
  resolve(s.body, inner);
}

void resolve(Body& body, const Names& names) {
  for (Statement& statement : body) resolve(statement, names);
}

} // namespace

void findUnsetNames(ParsedTemplate& parsed) {
  Names names(nullptr);
  visit(parsed.body, names);
  parsed.unset = names.unset();
  resolve(parsed.body, names);
}

} // namespace millrace::jinja
