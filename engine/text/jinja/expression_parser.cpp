#include "text/jinja/expression_parser.h"

#include "text/jinja/fault.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <optional>

namespace millrace::jinja {

namespace {

using Node = Expression::Kind;

constexpr int deepestNesting = 100; // of brackets and blocks while parsing
constexpr int deepestTree = 250;    // of an expression; "a + b + c" is as deep as it is long

const char* kindName(Node kind) {
  switch (kind) {
  case Node::Constant:
    return "const";
  case Node::Name:
    return "name";
  case Node::List:
    return "list";
  case Node::Tuple:
    return "tuple";
  case Node::Dict:
    return "dict";
  default:
    return "expression";
  }
}

bool isConstantName(std::string_view name) {
  return name == "true" || name == "false" || name == "none" || name == "True" || name == "False" || name == "None";
}

bool canAssign(const Expression& target) {
  if (target.kind == Node::Name) return !isConstantName(target.text);
  if (target.kind == Node::NamespaceAttribute) return true;
  return target.kind == Node::Tuple &&
         std::all_of(target.parts.begin(), target.parts.end(), [](const auto& part) { return canAssign(*part); });
}

std::optional<Operator> comparison(const Token& token) {
  if (token.kind != TokenKind::Operator) return std::nullopt;
  if (token.text == "==") return Operator::Eq;
  if (token.text == "!=") return Operator::Ne;
  if (token.text == "<") return Operator::Lt;
  if (token.text == "<=") return Operator::Le;
  if (token.text == ">") return Operator::Gt;
  if (token.text == ">=") return Operator::Ge;
  return std::nullopt;
}

} // namespace

Nesting::Nesting(int& depth, int line) : m_depth(depth) {
  if (++m_depth <= deepestNesting) return;
  --m_depth;
  raise("RecursionError", fmt::format("the template is nested deeper than {} levels", deepestNesting), line);
}

ExpressionPtr ExpressionParser::make(Node kind, int line) const {
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->line = line;
  return expression;
}

ExpressionPtr ExpressionParser::finished(ExpressionPtr expression) const {
  int deepest = 0;
  const auto look = [&](const ExpressionPtr& part) {
    if (part) deepest = std::max(deepest, part->depth);
  };
  for (const auto& part : expression->parts) look(part);
  for (const auto& argument : expression->arguments.positional) look(argument);
  for (const auto& [name, argument] : expression->arguments.named) look(argument);
  look(expression->arguments.star);
  look(expression->arguments.doubleStar);
  expression->depth = deepest + 1;
  if (expression->depth > deepestTree)
    raise("RecursionError", fmt::format("an expression is nested deeper than {} levels", deepestTree),
          expression->line);
  return expression;
}

ExpressionPtr ExpressionParser::binary(Operator op, ExpressionPtr left, ExpressionPtr right, int line) const {
  auto expression = make(Node::Binary, line);
  expression->operators.push_back(op);
  expression->parts.push_back(std::move(left));
  expression->parts.push_back(std::move(right));
  return finished(std::move(expression));
}

ExpressionPtr ExpressionParser::parseTuple(const TupleOptions& options) {
  const auto atTupleEnd = [&] {
    return m_stream.at(TokenKind::VariableEnd) || m_stream.at(TokenKind::BlockEnd) || m_stream.atOperator(")") ||
           (options.endName != nullptr && m_stream.atName(options.endName));
  };
  int line = m_stream.line();
  std::vector<ExpressionPtr> items;
  bool isTuple = false;
  for (;;) {
    if (!items.empty()) m_stream.expectOperator(",");
    if (atTupleEnd()) break;
    items.push_back(options.targets ? parsePrimary(options.namespaces) : parseExpression(options.conditional));
    if (!m_stream.atOperator(",")) break;
    isTuple = true;
    line = m_stream.line();
  }
  if (!isTuple) {
    if (!items.empty()) return std::move(items.front());
    if (!options.parentheses)
      syntaxError(fmt::format("Expected an expression, got {}", inQuotes(describe(m_stream.current()))),
                  m_stream.line());
  }
  auto tuple = make(Node::Tuple, line);
  tuple->parts = std::move(items);
  return finished(std::move(tuple));
}

ExpressionPtr ExpressionParser::parseTarget(const char* endName, bool namespaces) {
  const std::set<std::string> before = m_namesRead; // a target is not read
  TupleOptions options;
  options.targets = true;
  options.endName = endName;
  options.namespaces = namespaces;
  ExpressionPtr target = parseTuple(options);
  m_namesRead = before;
  if (!canAssign(*target)) syntaxError(fmt::format("can't assign to '{}'", kindName(target->kind)), target->line);
  return target;
}

ExpressionPtr ExpressionParser::parseTargetName() {
  const Token token = m_stream.expectAnyName();
  auto target = make(Node::Name, token.line);
  target->text = token.text;
  target->name = m_names.idOf(token.text);
  if (!canAssign(*target)) syntaxError("can't assign to 'name'", token.line);
  return target;
}

ExpressionPtr ExpressionParser::parseExpression(bool conditional) {
  const Nesting nesting(m_depth, m_stream.line());
  return conditional ? parseConditional() : parseOr();
}

ExpressionPtr ExpressionParser::parseConditional() {
  int line = m_stream.line();
  ExpressionPtr value = parseOr();
  while (m_stream.skipName("if")) {
    auto expression = make(Node::Conditional, line);
    expression->parts.push_back(parseOr());
    expression->parts.push_back(std::move(value));
    if (m_stream.skipName("else")) {
      const Nesting nesting(m_depth, m_stream.line());
      expression->parts.push_back(parseConditional());
    } else {
      expression->parts.push_back(nullptr);
    }
    value = finished(std::move(expression));
    line = m_stream.line();
  }
  return value;
}

ExpressionPtr ExpressionParser::parseOr() {
  int line = m_stream.line();
  ExpressionPtr left = parseAnd();
  while (m_stream.skipName("or")) {
    auto expression = make(Node::Or, line);
    expression->parts.push_back(std::move(left));
    expression->parts.push_back(parseAnd());
    left = finished(std::move(expression));
    line = m_stream.line();
  }
  return left;
}

ExpressionPtr ExpressionParser::parseAnd() {
  int line = m_stream.line();
  ExpressionPtr left = parseNot();
  while (m_stream.skipName("and")) {
    auto expression = make(Node::And, line);
    expression->parts.push_back(std::move(left));
    expression->parts.push_back(parseNot());
    left = finished(std::move(expression));
    line = m_stream.line();
  }
  return left;
}

ExpressionPtr ExpressionParser::parseNot() {
  if (!m_stream.atName("not")) return parseCompare();
  const int line = m_stream.take().line;
  const Nesting nesting(m_depth, line);
  auto expression = make(Node::Not, line);
  expression->parts.push_back(parseNot());
  return finished(std::move(expression));
}

ExpressionPtr ExpressionParser::parseCompare() {
  const int line = m_stream.line();
  auto expression = make(Node::Compare, line);
  expression->parts.push_back(parseSum());
  for (;;) {
    if (const auto op = comparison(m_stream.current())) {
      m_stream.take();
      expression->operators.push_back(*op);
    } else if (m_stream.skipName("in")) {
      expression->operators.push_back(Operator::In);
    } else if (m_stream.atName("not") && m_stream.next().isName("in")) {
      m_stream.take();
      m_stream.take();
      expression->operators.push_back(Operator::NotIn);
    } else {
      break;
    }
    expression->parts.push_back(parseSum());
  }
  if (expression->operators.empty()) return std::move(expression->parts.front());
  return finished(std::move(expression));
}

ExpressionPtr ExpressionParser::parseSum() {
  int line = m_stream.line();
  ExpressionPtr left = parseConcat();
  while (m_stream.atOperator("+") || m_stream.atOperator("-")) {
    const Operator op = m_stream.take().text == "+" ? Operator::Add : Operator::Sub;
    ExpressionPtr right = parseConcat();
    left = binary(op, std::move(left), std::move(right), line);
    line = m_stream.line();
  }
  return left;
}

ExpressionPtr ExpressionParser::parseConcat() {
  const int line = m_stream.line();
  auto expression = make(Node::Concat, line);
  expression->parts.push_back(parseProduct());
  while (m_stream.skipOperator("~")) expression->parts.push_back(parseProduct());
  if (expression->parts.size() == 1) return std::move(expression->parts.front());
  return finished(std::move(expression));
}

ExpressionPtr ExpressionParser::parseProduct() {
  static constexpr std::array<std::pair<std::string_view, Operator>, 4> operators = {
      {{"*", Operator::Mul}, {"/", Operator::Div}, {"//", Operator::FloorDiv}, {"%", Operator::Mod}}};
  int line = m_stream.line();
  ExpressionPtr left = parsePower();
  for (;;) {
    const auto op = std::find_if(operators.begin(), operators.end(),
                                 [&](const auto& entry) { return m_stream.atOperator(entry.first); });
    if (op == operators.end()) return left;
    m_stream.take();
    ExpressionPtr right = parsePower();
    left = binary(op->second, std::move(left), std::move(right), line);
    line = m_stream.line();
  }
}

ExpressionPtr ExpressionParser::parsePower() {
  int line = m_stream.line();
  ExpressionPtr left = parseUnary(true);
  while (m_stream.skipOperator("**")) {
    ExpressionPtr right = parseUnary(true);
    left = binary(Operator::Pow, std::move(left), std::move(right), line);
    line = m_stream.line();
  }
  return left;
}

ExpressionPtr ExpressionParser::parseUnary(bool withFilters) {
  const int line = m_stream.line();
  ExpressionPtr value;
  if (m_stream.atOperator("-") || m_stream.atOperator("+")) {
    const Nesting nesting(m_depth, line);
    value = make(m_stream.take().text == "-" ? Node::Negative : Node::Positive, line);
    value->parts.push_back(parseUnary(false));
    value = finished(std::move(value));
  } else {
    value = parsePrimary(false);
  }
  value = parsePostfix(std::move(value));
  return withFilters ? parseFiltersAndTests(std::move(value)) : std::move(value);
}

ExpressionPtr ExpressionParser::parseNameOrConstant(bool namespaces) {
  const Token token = m_stream.take();
  if (isConstantName(token.text)) {
    auto constant = make(Node::Constant, token.line);
    if (token.text != "none" && token.text != "None") constant->constant = token.text == "true" || token.text == "True";
    return constant;
  }
  if (namespaces && m_stream.skipOperator(".")) {
    auto target = make(Node::NamespaceAttribute, token.line);
    target->name = m_names.idOf(token.text);
    target->text = m_stream.expectAnyName().text;
    return target;
  }
  auto name = make(Node::Name, token.line);
  name->text = token.text;
  name->name = m_names.idOf(token.text);
  m_namesRead.insert(token.text);
  return name;
}

ExpressionPtr ExpressionParser::parsePrimary(bool namespaces) {
  const int line = m_stream.line();
  switch (m_stream.current().kind) {
  case TokenKind::Name:
    return parseNameOrConstant(namespaces);
  case TokenKind::String: {
    std::string text;
    while (m_stream.at(TokenKind::String)) text += m_stream.take().text;
    auto constant = make(Node::Constant, line);
    constant->constant = std::move(text);
    return constant;
  }
  case TokenKind::Integer: {
    auto constant = make(Node::Constant, line);
    constant->constant = m_stream.take().integer;
    return constant;
  }
  case TokenKind::Float: {
    auto constant = make(Node::Constant, line);
    constant->constant = m_stream.take().number;
    return constant;
  }
  case TokenKind::Operator:
    if (m_stream.atOperator("(")) {
      const Nesting nesting(m_depth, line);
      m_stream.take();
      TupleOptions options;
      options.parentheses = true;
      ExpressionPtr value = parseTuple(options);
      m_stream.expectOperator(")");
      return value;
    }
    if (m_stream.atOperator("[")) return parseList();
    if (m_stream.atOperator("{")) return parseDict();
    break;
  default:
    break;
  }
  syntaxError(fmt::format("unexpected {}", inQuotes(describe(m_stream.current()))), line);
}

ExpressionPtr ExpressionParser::parseList() {
  auto list = make(Node::List, m_stream.expectOperator("[").line);
  while (!m_stream.atOperator("]")) {
    if (!list->parts.empty()) m_stream.expectOperator(",");
    if (m_stream.atOperator("]")) break;
    list->parts.push_back(parseExpression());
  }
  m_stream.expectOperator("]");
  return finished(std::move(list));
}

ExpressionPtr ExpressionParser::parseDict() {
  auto dict = make(Node::Dict, m_stream.expectOperator("{").line);
  while (!m_stream.atOperator("}")) {
    if (!dict->parts.empty()) m_stream.expectOperator(",");
    if (m_stream.atOperator("}")) break;
    dict->parts.push_back(parseExpression());
    m_stream.expectOperator(":");
    dict->parts.push_back(parseExpression());
  }
  m_stream.expectOperator("}");
  return finished(std::move(dict));
}

ExpressionPtr ExpressionParser::parsePostfix(ExpressionPtr operand) {
  for (;;) {
    if (m_stream.atOperator(".") || m_stream.atOperator("["))
      operand = parseSubscript(std::move(operand));
    else if (m_stream.atOperator("("))
      operand = parseCall(std::move(operand));
    else
      return operand;
  }
}

ExpressionPtr ExpressionParser::parseFiltersAndTests(ExpressionPtr operand) {
  for (;;) {
    if (m_stream.atOperator("|"))
      operand = parseFilters(std::move(operand), false);
    else if (m_stream.atName("is"))
      operand = parseTest(std::move(operand));
    else if (m_stream.atOperator("("))
      operand = parseCall(std::move(operand));
    else
      return operand;
  }
}

ExpressionPtr ExpressionParser::parseSubscript(ExpressionPtr operand) {
  const Token token = m_stream.take();
  if (token.text == ".") {
    const Token attribute = m_stream.take();
    if (attribute.kind == TokenKind::Name) {
      auto expression = make(Node::Attribute, token.line);
      expression->text = attribute.text;
      expression->parts.push_back(std::move(operand));
      return finished(std::move(expression));
    }
    if (attribute.kind != TokenKind::Integer) syntaxError("expected name or number", attribute.line);
    auto index = make(Node::Constant, attribute.line);
    index->constant = attribute.integer;
    auto expression = make(Node::Item, token.line);
    expression->parts.push_back(std::move(operand));
    expression->parts.push_back(std::move(index));
    return finished(std::move(expression));
  }
  std::vector<ExpressionPtr> indices;
  while (!m_stream.atOperator("]")) {
    if (!indices.empty()) m_stream.expectOperator(",");
    indices.push_back(parseSubscribed());
  }
  m_stream.expectOperator("]");
  auto expression = make(Node::Item, token.line);
  expression->parts.push_back(std::move(operand));
  if (indices.size() == 1) {
    expression->parts.push_back(std::move(indices.front()));
  } else {
    auto tuple = make(Node::Tuple, token.line);
    tuple->parts = std::move(indices);
    expression->parts.push_back(finished(std::move(tuple)));
  }
  return finished(std::move(expression));
}

ExpressionPtr ExpressionParser::parseSubscribed() {
  const int line = m_stream.line();
  ExpressionPtr start;
  if (!m_stream.atOperator(":")) {
    start = parseExpression();
    if (!m_stream.atOperator(":")) return start;
  }
  m_stream.take();
  const auto atPartEnd = [&] { return m_stream.atOperator("]") || m_stream.atOperator(","); };
  auto slice = make(Node::Slice, line);
  slice->parts.push_back(std::move(start));
  slice->parts.push_back(m_stream.atOperator(":") || atPartEnd() ? nullptr : parseExpression());
  slice->parts.push_back(m_stream.skipOperator(":") && !atPartEnd() ? parseExpression() : nullptr);
  return finished(std::move(slice));
}

ArgumentList ExpressionParser::parseArguments() {
  const int line = m_stream.expectOperator("(").line;
  ArgumentList list;
  const auto ensure = [&](bool sound) {
    if (!sound) syntaxError("invalid syntax for function call expression", line);
  };
  bool first = true;
  while (!m_stream.atOperator(")")) {
    if (!first) {
      m_stream.expectOperator(",");
      if (m_stream.atOperator(")")) break;
    }
    first = false;
    if (m_stream.skipOperator("*")) {
      ensure(!list.star && !list.doubleStar);
      list.star = parseExpression();
    } else if (m_stream.skipOperator("**")) {
      ensure(!list.doubleStar);
      list.doubleStar = parseExpression();
    } else if (m_stream.at(TokenKind::Name) && m_stream.next().isOperator("=")) {
      ensure(!list.doubleStar);
      std::string key = m_stream.take().text;
      m_stream.take();
      list.named.emplace_back(std::move(key), parseExpression());
    } else {
      ensure(!list.star && !list.doubleStar && list.named.empty());
      list.positional.push_back(parseExpression());
    }
  }
  m_stream.expectOperator(")");
  return list;
}

ExpressionPtr ExpressionParser::parseCall(ExpressionPtr callee) {
  auto call = make(Node::Call, m_stream.line());
  call->parts.push_back(std::move(callee));
  call->arguments = parseArguments();
  return finished(std::move(call));
}

std::string ExpressionParser::parseDottedName() {
  std::string name = m_stream.expectAnyName().text;
  while (m_stream.skipOperator(".")) (name += '.') += m_stream.expectAnyName().text;
  return name;
}

ExpressionPtr ExpressionParser::parseFilters(ExpressionPtr operand, bool startsWithName) {
  while (startsWithName || m_stream.skipOperator("|")) {
    startsWithName = false;
    auto filter = make(Node::Filter, m_stream.line());
    filter->text = parseDottedName();
    filter->parts.push_back(std::move(operand));
    if (m_stream.atOperator("(")) filter->arguments = parseArguments();
    operand = finished(std::move(filter));
  }
  return operand;
}

ExpressionPtr ExpressionParser::parseTest(ExpressionPtr operand) {
  const int line = m_stream.take().line;
  const bool negated = m_stream.skipName("not");
  auto test = make(Node::Test, line);
  test->text = parseDottedName();
  test->parts.push_back(std::move(operand));
  const TokenKind kind = m_stream.current().kind;
  const bool opensValue = kind == TokenKind::Name || kind == TokenKind::String || kind == TokenKind::Integer ||
                          kind == TokenKind::Float || m_stream.atOperator("[") || m_stream.atOperator("{");
  if (m_stream.atOperator("(")) {
    test->arguments = parseArguments();
  } else if (opensValue && !m_stream.atAnyName({"else", "or", "and"})) {
    if (m_stream.atName("is")) syntaxError("You cannot chain multiple tests with is", m_stream.line());
    test->arguments.positional.push_back(parsePostfix(parsePrimary(false)));
  }
  ExpressionPtr result = finished(std::move(test));
  if (!negated) return result;
  auto inverse = make(Node::Not, line);
  inverse->parts.push_back(std::move(result));
  return finished(std::move(inverse));
}

} // namespace millrace::jinja
