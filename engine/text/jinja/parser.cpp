#include "text/jinja/parser.h"

#include "text/jinja/expression_parser.h"
#include "text/jinja/fault.h"
#include "text/jinja/text_ops.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::jinja {

namespace {

using Names = std::vector<std::string>;

class Parser {
 public:
  explicit Parser(std::string_view source) : m_stream(tokenize(source)), m_expressions(m_stream, m_names) {}

  ParsedTemplate run() {
    ParsedTemplate parsed;
    parsed.body = parseUntil({});
    parsed.names = m_names.take();
    parsed.marksGeneration = m_marksGeneration;
    return parsed;
  }

 private:
  /// Pops what was pushed, however a function is left.
  template <class List>
  struct Popped {
    List& list;
    ~Popped() { list.pop_back(); }
  };

  Statement make(Statement::Kind kind, int line) const {
    Statement statement;
    statement.kind = kind;
    statement.line = line;
    return statement;
  }

  /// Up to a tag of one of these names, which is current then; with none of them up to the end of the template.
  Body parseUntil(const Names& ends) {
    const Nesting nesting(m_expressions.depth(), m_stream.line());
    m_ends.push_back(ends);
    const Popped<std::vector<Names>> popped{m_ends};
    Body body;
    while (!m_stream.atEnd()) {
      const Token token = m_stream.take();
      if (token.kind == TokenKind::Data) {
        Statement data = make(Statement::Kind::Data, token.line);
        data.text = token.text;
        body.push_back(std::move(data));
      } else if (token.kind == TokenKind::VariableBegin) {
        Statement output = make(Statement::Kind::Output, token.line);
        output.expressions.push_back(m_expressions.parseTuple({}));
        m_stream.expect(TokenKind::VariableEnd, "end of print statement");
        body.push_back(std::move(output));
      } else { // a block begins: nothing else stands between tags
        if (std::any_of(ends.begin(), ends.end(), [&](const std::string& name) { return m_stream.atName(name); }))
          return body;
        body.push_back(parseStatement());
        m_stream.expect(TokenKind::BlockEnd, "end of statement block");
      }
    }
    return body;
  }

  /// The body of a tag up to one of the names, which is current then.
  Body parseBody(const Names& ends) {
    m_stream.skipOperator(":");
    m_stream.expect(TokenKind::BlockEnd, "end of statement block");
    Body body = parseUntil(ends);
    if (m_stream.atEnd()) {
      m_ends.push_back(ends);
      const Popped<std::vector<Names>> popped{m_ends};
      failExpecting(nullptr, m_stream.line());
    }
    return body;
  }
  /// The same, and the end's name is taken.
  Body parseWholeBody(const char* end) {
    Body body = parseBody({end});
    m_stream.take();
    return body;
  }

  /// tag: the unknown one, or null at the end of the template.
  [[noreturn]] void failExpecting(const std::string* tag, int line) const {
    std::string looking;
    bool misplaced = false;
    for (const Names& ends : m_ends)
      misplaced = misplaced || (tag != nullptr && std::find(ends.begin(), ends.end(), *tag) != ends.end());
    if (!m_ends.empty())
      for (const std::string& name : m_ends.back())
        looking += fmt::format("{}{}", looking.empty() ? "" : " or ", inQuotes(name));
    std::string message =
        tag == nullptr ? "Unexpected end of template." : fmt::format("Encountered unknown tag {}.", inQuotes(*tag));
    if (!looking.empty())
      message +=
          misplaced
              ? fmt::format(
                    " You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for {}.",
                    looking)
              : fmt::format(" Jinja was looking for the following tags: {}.", looking);
    if (!m_tags.empty())
      message += fmt::format(" The innermost block that needs to be closed is {}.", inQuotes(m_tags.back()));
    syntaxError(std::move(message), line);
  }

  Statement parseStatement() {
    if (!m_stream.at(TokenKind::Name)) syntaxError("tag name expected", m_stream.line());
    const std::string tag = m_stream.current().text;
    const auto parse = parserOf(tag);
    if (parse == nullptr) failExpecting(&tag, m_stream.line());
    m_tags.push_back(tag);
    const Popped<Names> popped{m_tags};
    return (this->*parse)();
  }

  using Parse = Statement (Parser::*)();
  static Parse parserOf(std::string_view tag) {
    static constexpr std::pair<std::string_view, Parse> known[] = {
        {"if", &Parser::parseIf},
        {"for", &Parser::parseFor},
        {"set", &Parser::parseSet},
        {"macro", &Parser::parseMacro},
        {"call", &Parser::parseCallBlock},
        {"filter", &Parser::parseFilterBlock},
        {"with", &Parser::parseWith},
        {"print", &Parser::parsePrint},
        {"autoescape", &Parser::parseAutoEscape},
        {"block", &Parser::parseBlock},
        {"generation", &Parser::parseGeneration},
        {"break", &Parser::parseLoopControl},
        {"continue", &Parser::parseLoopControl},
        {"extends", &Parser::parseOtherTemplate},
        {"include", &Parser::parseOtherTemplate},
        {"import", &Parser::parseOtherTemplate},
        {"from", &Parser::parseOtherTemplate},
    };
    for (const auto& [name, parse] : known)
      if (name == tag) return parse;
    return nullptr;
  }

  Statement parseIf() {
    Statement statement = make(Statement::Kind::If, m_stream.take().line);
    ExpressionParser::TupleOptions condition;
    condition.conditional = false;
    for (;;) {
      Statement::Branch branch;
      branch.condition = m_expressions.parseTuple(condition);
      branch.body = parseBody({"elif", "else", "endif"});
      statement.branches.push_back(std::move(branch));
      const std::string end = m_stream.take().text;
      if (end == "elif") continue;
      if (end == "else") statement.otherwise = parseWholeBody("endif");
      return statement;
    }
  }

  Statement parseFor() {
    Statement loop = make(Statement::Kind::For, m_stream.take().line);
    loop.target = m_expressions.parseTarget("in", false);
    m_stream.expectName("in");
    ExpressionParser::TupleOptions iterable;
    iterable.conditional = false;
    iterable.endName = "recursive";
    loop.expressions.push_back(m_expressions.parseTuple(iterable));
    loop.expressions.push_back(m_stream.skipName("if") ? m_expressions.parseExpression() : nullptr);
    loop.recursive = m_stream.skipName("recursive");
    loop.body = parseBody({"endfor", "else"});
    if (m_stream.take().text == "else") loop.otherwise = parseWholeBody("endfor");
    return loop;
  }

  Statement parseSet() {
    Statement statement = make(Statement::Kind::Set, m_stream.take().line);
    statement.target = m_expressions.parseTarget(nullptr, true);
    if (m_stream.skipOperator("=")) {
      statement.expressions.push_back(m_expressions.parseTuple({}));
      return statement;
    }
    statement.kind = Statement::Kind::SetBlock;
    statement.expressions.push_back(m_expressions.parseFilters(nullptr, false));
    statement.body = parseWholeBody("endset");
    return statement;
  }

  void parseParameters(Statement& statement) {
    m_stream.expectOperator("(");
    bool haveDefault = false;
    while (!m_stream.atOperator(")")) {
      if (!statement.parameters.empty()) m_stream.expectOperator(",");
      const ExpressionPtr name = m_expressions.parseTargetName();
      Statement::Parameter parameter{name->name, name->text, nullptr};
      if (m_stream.skipOperator("=")) {
        parameter.byDefault = m_expressions.parseExpression();
        haveDefault = true;
      } else if (haveDefault) {
        syntaxError("non-default argument follows default argument", m_stream.line());
      }
      statement.parameters.push_back(std::move(parameter));
    }
    m_stream.expectOperator(")");
  }

  /// Parses the body and notes which of the special names it reads.
  void parseMacroBody(Statement& statement, const char* end) {
    std::set<std::string> outside;
    std::swap(outside, m_expressions.namesRead());
    statement.body = parseWholeBody(end);
    std::set<std::string>& read = m_expressions.namesRead();
    const auto isParameter = [&](const char* name) {
      return std::any_of(statement.parameters.begin(), statement.parameters.end(),
                         [&](const auto& parameter) { return parameter.text == name; });
    };
    statement.usesCaller = read.count("caller") > 0;
    statement.usesKwargs = read.count("kwargs") > 0 && !isParameter("kwargs");
    statement.usesVarargs = read.count("varargs") > 0 && !isParameter("varargs");
    for (const Statement::Parameter& parameter : statement.parameters)
      if (statement.usesCaller && parameter.text == "caller" && !parameter.byDefault)
        raise("TemplateAssertionError",
              "When defining macros or call blocks the special \"caller\" argument must be omitted or be given a "
              "default.",
              statement.line);
    read.merge(outside);
  }

  Statement parseMacro() {
    Statement macro = make(Statement::Kind::Macro, m_stream.take().line);
    const ExpressionPtr name = m_expressions.parseTargetName();
    macro.text = name->text;
    macro.name = name->name;
    parseParameters(macro);
    parseMacroBody(macro, "endmacro");
    return macro;
  }

  Statement parseCallBlock() {
    Statement block = make(Statement::Kind::CallBlock, m_stream.take().line);
    if (m_stream.atOperator("(")) parseParameters(block);
    block.expressions.push_back(m_expressions.parseExpression());
    if (block.expressions[0]->kind != Expression::Kind::Call) syntaxError("expected call", block.line);
    parseMacroBody(block, "endcall");
    return block;
  }

  Statement parseGeneration() {
    Statement block = make(Statement::Kind::Generation, m_stream.take().line);
    m_marksGeneration = true;
    parseMacroBody(block, "endgeneration");
    return block;
  }

  Statement parseFilterBlock() {
    Statement block = make(Statement::Kind::FilterBlock, m_stream.take().line);
    block.expressions.push_back(m_expressions.parseFilters(nullptr, true));
    block.body = parseWholeBody("endfilter");
    return block;
  }

  Statement parseWith() {
    Statement block = make(Statement::Kind::With, m_stream.take().line);
    while (!m_stream.at(TokenKind::BlockEnd)) {
      if (!block.targets.empty()) m_stream.expectOperator(",");
      block.targets.push_back(m_expressions.parseTarget(nullptr, false));
      m_stream.expectOperator("=");
      block.expressions.push_back(m_expressions.parseExpression());
    }
    block.body = parseWholeBody("endwith");
    return block;
  }

  Statement parsePrint() {
    Statement output = make(Statement::Kind::Output, m_stream.take().line);
    while (!m_stream.at(TokenKind::BlockEnd)) {
      if (!output.expressions.empty()) m_stream.expectOperator(",");
      output.expressions.push_back(m_expressions.parseExpression());
    }
    return output;
  }

  Statement parseAutoEscape() {
    Statement block = make(Statement::Kind::AutoEscape, m_stream.take().line);
    block.expressions.push_back(m_expressions.parseExpression());
    block.body = parseWholeBody("endautoescape");
    return block;
  }

  Statement parseBlock() {
    Statement block = make(Statement::Kind::Block, m_stream.take().line);
    block.text = m_stream.expectAnyName().text;
    block.scoped = m_stream.skipName("scoped");
    const bool required = m_stream.skipName("required");
    if (m_stream.atOperator("-"))
      syntaxError("Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an "
                  "underscore instead.",
                  m_stream.line());
    if (!m_blocks.insert(block.text).second)
      raise("TemplateAssertionError", fmt::format("block {} defined twice", inQuotes(block.text)), block.line);
    block.body = parseWholeBody("endblock");
    if (required)
      for (const Statement& inner : block.body)
        if (inner.kind != Statement::Kind::Data || !stripLeft(inner.text).empty())
          syntaxError("Required blocks can only contain comments or whitespace", m_stream.line());
    m_stream.skipName(block.text);
    if (required)
      raise("TemplateRuntimeError", fmt::format("Required block {} not found", inQuotes(block.text)), block.line);
    return block;
  }

  Statement parseLoopControl() {
    const Token token = m_stream.take();
    return make(token.text == "break" ? Statement::Kind::Break : Statement::Kind::Continue, token.line);
  }

  /// These need a place where other templates are; a chat template has none. The tag is read over.
  Statement parseOtherTemplate() {
    Statement statement = make(Statement::Kind::OtherTemplate, m_stream.take().line);
    while (!m_stream.at(TokenKind::BlockEnd) && !m_stream.atEnd()) m_stream.take();
    return statement;
  }

  NameTable m_names;
  TokenStream m_stream;
  ExpressionParser m_expressions;
  std::vector<Names> m_ends; ///< of the bodies being parsed: the tags that end each
  Names m_tags;              ///< the tags being parsed
  std::set<std::string> m_blocks;
  bool m_marksGeneration = false;
};

} // namespace

ParsedTemplate parseTemplate(std::string_view source) {
  return Parser(source).run();
}

} // namespace millrace::jinja
