#include "text/jinja/check.h"

#include "text/jinja/fault.h"
#include "text/jinja/filters.h"
#include "text/jinja/text_ops.h"

#include <fmt/format.h>

namespace millrace::jinja {

namespace {

/// Where something stands.
struct Place {
  bool conditional = false; ///< within an if that belongs to the same scope
  bool inLoop = false;
  Place inner() const { return {false, inLoop}; }
  Place soft() const { return {true, inLoop}; }
};

void check(const Body& body, Place place);

void check(const ExpressionPtr& expression, Place place) {
  if (!expression) return;
  const Expression& e = *expression;
  const bool filter = e.kind == Expression::Kind::Filter;
  if (e.kind == Expression::Kind::Conditional) place = place.soft();
  if (!place.conditional &&
      ((filter && findFilter(e.text) == nullptr) || (e.kind == Expression::Kind::Test && findTest(e.text) == nullptr)))
    raise("TemplateAssertionError", fmt::format("No {} named {}.", filter ? "filter" : "test", inQuotes(e.text)),
          e.line);
  for (const auto& part : e.parts) check(part, place);
  for (const auto& argument : e.arguments.positional) check(argument, place);
  for (const auto& [name, argument] : e.arguments.named) check(argument, place);
  check(e.arguments.star, place);
  check(e.arguments.doubleStar, place);
}

void checkNotLoop(const ExpressionPtr& target) {
  if (target->kind == Expression::Kind::Name && target->text == "loop")
    raise("TemplateAssertionError", "Can't assign to special loop variable in for-loop target", target->line);
  for (const auto& part : target->parts) checkNotLoop(part);
}

void check(const Statement& s, Place place) {
  using Tag = Statement::Kind;
  switch (s.kind) {
  case Tag::If:
    for (const Statement::Branch& branch : s.branches) {
      check(branch.condition, place.soft());
      check(branch.body, place.soft());
    }
    check(s.otherwise, place.soft());
    return;
  case Tag::For:
    checkNotLoop(s.target);
    check(s.expressions[0], place);
    check(s.expressions[1], place.inner());
    check(s.body, {false, true});
    check(s.otherwise, place.inner());
    return;
  case Tag::Macro:
  case Tag::CallBlock:
  case Tag::Generation:
    for (const auto& expression : s.expressions) check(expression, place);
    for (const Statement::Parameter& parameter : s.parameters) check(parameter.byDefault, {});
    check(s.body, {});
    return;
  case Tag::Block:
    check(s.body, {});
    return;
  case Tag::SetBlock:
  case Tag::FilterBlock:
    for (const auto& expression : s.expressions) check(expression, place.inner());
    check(s.body, place.inner());
    return;
  case Tag::With:
  case Tag::AutoEscape:
    for (const auto& expression : s.expressions) check(expression, place);
    check(s.body, place.inner());
    return;
  case Tag::Break:
  case Tag::Continue:
    if (!place.inLoop)
      raise("SyntaxError", s.kind == Tag::Break ? "'break' outside loop" : "'continue' not properly in loop", s.line);
    return;
  default:
    for (const auto& expression : s.expressions) check(expression, place);
  }
}

void check(const Body& body, Place place) {
  for (const Statement& statement : body) check(statement, place);
}

} // namespace

void checkTemplate(const ParsedTemplate& parsed) {
  check(parsed.body, {});
}

} // namespace millrace::jinja
