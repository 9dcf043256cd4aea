// What filters, tests and methods may ask of the rendering that they run in. One thread.
#pragma once

#include "text/jinja/value.h"

#include <ctime>
#include <string>

namespace millrace::jinja {

class Runtime {
 public:
  virtual ~Runtime() = default;
  virtual Heap& heap() = 0;
  /// Whether output is escaped for HTML just now (autoescape blocks).
  virtual bool autoEscapes() const = 0;
  /// The time that strftime_now() tells.
  virtual std::tm localTime() const = 0;
  /// Throws Fault when the value cannot be called.
  virtual Value call(const Value& callee, Arguments& arguments) = 0;
  /// positional[0] is what the filter or test is applied to.
  virtual Value applyFilter(const std::string& name, Arguments& arguments) = 0;
  virtual Value applyTest(const std::string& name, Arguments& arguments) = 0;
};

} // namespace millrace::jinja
