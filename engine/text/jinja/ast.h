// A parsed template. Immutable after parsing; owned by Template.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using Body = std::vector<Statement>;

/// A variable by its number: names are counted once, in the order in which the parser meets them.
using NameId = std::int32_t;

struct ArgumentList {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star;       ///< *expression
  ExpressionPtr doubleStar; ///< **expression
};

enum class Operator : std::uint8_t { Add, Sub, Mul, Div, FloorDiv, Mod, Pow, Eq, Ne, Lt, Le, Gt, Ge, In, NotIn };

struct Expression {
  enum class Kind : std::uint8_t {
    Constant,
    Name,
    NamespaceAttribute, ///< as a target: name.text
    List,
    Tuple,
    Dict,      ///< parts: key, value, key, value, ...
    Attribute, ///< parts[0].text
    Item,      ///< parts[0][parts[1]]
    Slice,     ///< start, stop, step; absent ones are null. Only within Item.
    Call,
    Filter, ///< parts[0] | text(arguments); parts[0] is null where a block is filtered
    Test,   ///< parts[0] is text(arguments)
    Not,
    Negative,
    Positive,
    Binary,
    Concat,
    And,
    Or,
    Compare,     ///< parts[0] operators[0] parts[1] operators[1] parts[2] ...
    Conditional, ///< parts: condition, then, else (may be null)
  };
  using Constant = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

  Kind kind = Kind::Constant;
  int line = 0;
  int depth = 1; ///< of the tree below, itself included
  NameId name = -1;
  std::string text;
  Constant constant;
  std::vector<ExpressionPtr> parts;
  std::vector<Operator> operators;
  ArgumentList arguments;
};

struct Statement {
  enum class Kind : std::uint8_t {
    Data,       ///< text
    Output,     ///< expressions
    If,         ///< branches, then otherwise
    For,        ///< target, expressions: iterable, and the filter or null
    Set,        ///< target, expressions[0]
    SetBlock,   ///< target, expressions[0]: a filter or null
    Macro,      ///< name, parameters
    CallBlock,  ///< expressions[0]: the call; parameters
    Generation, ///< body is what the assistant says
    FilterBlock,
    With,       ///< targets[i] = expressions[i]
    AutoEscape, ///< expressions[0]
    Block,      ///< text: its name
    Break,
    Continue,
    OtherTemplate, ///< extends, include, import, from
  };
  struct Branch {
    ExpressionPtr condition;
    Body body;
  };
  struct Parameter {
    NameId name = -1;
    std::string text;
    ExpressionPtr byDefault; ///< null: none
  };

  Kind kind = Kind::Data;
  int line = 0;
  std::string text;
  NameId name = -1;
  ExpressionPtr target;
  std::vector<ExpressionPtr> targets;
  std::vector<ExpressionPtr> expressions;
  std::vector<Branch> branches;
  std::vector<Parameter> parameters;
  Body body;
  Body otherwise;
  bool recursive = false;
  bool scoped = false; ///< a block that sees the variables around it
  // Macros and call blocks: which of the special names the body uses.
  bool usesCaller = false;
  bool usesKwargs = false;
  bool usesVarargs = false;
  // Names that are unset when the scope of the body, or of otherwise, begins; see unset_names.h.
  std::vector<NameId> unset;
  std::vector<NameId> unsetOtherwise;
};

struct ParsedTemplate {
  Body body;
  std::vector<std::string> names; ///< by NameId
  std::vector<NameId> unset;      ///< when rendering begins
  bool marksGeneration = false;   ///< has a generation tag
};

} // namespace millrace::jinja
