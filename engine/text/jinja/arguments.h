// How arguments of a call meet the parameters of a built-in filter or function, with Python's messages where they do
// not fit.
#pragma once

#include "text/jinja/value.h"

#include <initializer_list>

namespace millrace::jinja {

struct Parameter {
  const char* name;
  bool required = false;
};

class BoundArguments {
 public:
  /// hidden: parameters before these that the reference implementation counts and the caller does not pass.
  BoundArguments(const char* function, Arguments& arguments, std::initializer_list<Parameter> parameters,
                 int hidden = 0);

  /// Whether it was given.
  bool has(std::size_t i) const { return m_values[i].has_value(); }
  /// What was given, or None.
  const Value& operator[](std::size_t i) const { return m_values[i] ? *m_values[i] : m_none; }
  const Value& orElse(std::size_t i, const Value& fallback) const { return m_values[i] ? *m_values[i] : fallback; }
  bool truthOr(std::size_t i, bool fallback) const { return m_values[i] ? truth(*m_values[i]) : fallback; }

 private:
  std::vector<std::optional<Value>> m_values;
  Value m_none;
};

/// For methods that take arguments by position alone: their number, or Fault.
void expectPositional(const char* method, const Arguments& arguments, std::size_t least, std::size_t most);
/// A whole number, or Fault.
std::int64_t wholeArgument(const Value& value);

} // namespace millrace::jinja
