// The `loop` variable of a for tag: goes through what is iterated over, and looks one item ahead only when asked to.
#pragma once

#include "text/jinja/iteration.h"
#include "text/jinja/value.h"

namespace millrace::jinja {

struct LoopObject : Object {
  const Statement* statement = nullptr; ///< the for tag, which a recursive loop renders again
  Scope* scope = nullptr;               ///< in which it stands
  std::int64_t depth0 = 0;

  /// sized: how many items there are, where that is known.
  void begin(ItemSource source, std::optional<std::int64_t> sized) {
    m_next = std::move(source);
    m_length = sized;
  }
  /// Moves on; false at the end.
  bool advance(Value& item);

  std::int64_t index0() const { return m_index0; }
  std::int64_t index() const { return m_index0 + 1; }
  /// Takes all that is left into memory where the length is not known.
  std::int64_t length();
  bool last() { return !peek(); }
  /// The next item, if there is one.
  const Value* next() { return peek() ? &*m_after : nullptr; }
  const Value* previous() const { return m_before ? &*m_before : nullptr; }
  /// Whether these are other values than at the last call.
  bool changed(Heap& heap, const Values& values);

 private:
  bool peek();

  ItemSource m_next;
  std::optional<std::int64_t> m_length;
  std::int64_t m_index0 = -1;
  std::optional<Value> m_after;
  std::optional<Value> m_current;
  std::optional<Value> m_before;
  std::optional<Values> m_lastValues;
};

} // namespace millrace::jinja
