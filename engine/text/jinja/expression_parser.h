// Expressions of templates. Used by the parser of statements alone.
#pragma once

#include "text/jinja/token_stream.h"

#include <set>
#include <string>

namespace millrace::jinja {

/// Counts how deep the parser is, for as long as it lives.
class Nesting {
 public:
  Nesting(int& depth, int line);
  ~Nesting() { --m_depth; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  int& m_depth;
};

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& stream, NameTable& names) : m_stream(stream), m_names(names) {}

  struct TupleOptions {
    bool targets = false;     ///< names and literals alone
    bool conditional = true;  ///< "a if b else c" is allowed
    bool parentheses = false; ///< it stands in parentheses, where () is a value
    bool namespaces = false;  ///< "ns.name" is a target
    const char* endName = nullptr;
  };
  /// An expression, or a tuple where commas follow.
  ExpressionPtr parseTuple(const TupleOptions& options);
  ExpressionPtr parseExpression(bool conditional = true);
  /// What a value is assigned to: a name, a tuple of them, or with `namespaces` an attribute.
  ExpressionPtr parseTarget(const char* endName, bool namespaces);
  /// A name that something is assigned to.
  ExpressionPtr parseTargetName();
  /// "| name(...) | name(...)" behind the operand; startsWithName: the first bar is left out. Null if there is none.
  ExpressionPtr parseFilters(ExpressionPtr operand, bool startsWithName);

  /// The names that were read since the last call; how macros learn whether they use caller, varargs or kwargs.
  std::set<std::string>& namesRead() { return m_namesRead; }
  int& depth() { return m_depth; }

 private:
  ExpressionPtr make(Expression::Kind kind, int line) const;
  /// Notes how deep the tree is; refuses what is too deep to be walked.
  ExpressionPtr finished(ExpressionPtr expression) const;
  ExpressionPtr binary(Operator op, ExpressionPtr left, ExpressionPtr right, int line) const;
  ExpressionPtr parseConditional();
  ExpressionPtr parseOr();
  ExpressionPtr parseAnd();
  ExpressionPtr parseNot();
  ExpressionPtr parseCompare();
  ExpressionPtr parseSum();
  ExpressionPtr parseConcat();
  ExpressionPtr parseProduct();
  ExpressionPtr parsePower();
  ExpressionPtr parseUnary(bool withFilters);
  ExpressionPtr parsePrimary(bool namespaces);
  ExpressionPtr parseNameOrConstant(bool namespaces);
  ExpressionPtr parseList();
  ExpressionPtr parseDict();
  ExpressionPtr parsePostfix(ExpressionPtr operand);
  ExpressionPtr parseFiltersAndTests(ExpressionPtr operand);
  ExpressionPtr parseSubscript(ExpressionPtr operand);
  ExpressionPtr parseSubscribed();
  ExpressionPtr parseCall(ExpressionPtr callee);
  ExpressionPtr parseTest(ExpressionPtr operand);
  ArgumentList parseArguments();
  std::string parseDottedName();

  TokenStream& m_stream;
  NameTable& m_names;
  std::set<std::string> m_namesRead;
  int m_depth = 0;
};

} // namespace millrace::jinja
