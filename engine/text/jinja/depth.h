// Counts how deep the interpreter has recursed, so that a template cannot exhaust the stack.
#pragma once

#include "text/jinja/fault.h"

namespace millrace::jinja {

class DepthCounter {
 public:
  /// Enough for macros that call themselves some dozens of levels deep, and well within a thread's stack.
  static constexpr int deepest = 1000;

  explicit DepthCounter(int& depth) : m_depth(depth) {
    if (++m_depth <= deepest) return;
    --m_depth;
    raise("RecursionError",
          "maximum recursion depth exceeded; a macro of the template may be calling itself without end");
  }
  ~DepthCounter() { --m_depth; }
  DepthCounter(const DepthCounter&) = delete;
  DepthCounter& operator=(const DepthCounter&) = delete;

 private:
  int& m_depth;
};

} // namespace millrace::jinja
