#include "text/jinja/loop.h"

#include <algorithm>

namespace millrace::jinja {

bool LoopObject::peek() {
  if (m_after) return true;
  Value item;
  if (!m_next(item)) return false;
  m_after = item;
  return true;
}

bool LoopObject::advance(Value& item) {
  if (m_after)
    item = *m_after;
  else if (!m_next(item))
    return false;
  m_after.reset();
  ++m_index0;
  m_before = m_current;
  m_current = item;
  return true;
}

std::int64_t LoopObject::length() {
  if (!m_length) {
    auto rest = std::make_shared<Values>();
    for (Value item; m_next(item);) rest->push_back(item);
    m_length = static_cast<std::int64_t>(rest->size()) + index() + (m_after ? 1 : 0);
    m_next = [rest, at = std::size_t{0}](Value& item) mutable {
      if (at == rest->size()) return false;
      item = (*rest)[at++];
      return true;
    };
  }
  return *m_length;
}

bool LoopObject::changed(Heap& heap, const Values& values) {
  const bool same = m_lastValues && std::equal(m_lastValues->begin(), m_lastValues->end(), values.begin(), values.end(),
                                               [&](const Value& a, const Value& b) { return equal(heap, a, b); });
  if (!same) m_lastValues = values;
  return !same;
}

} // namespace millrace::jinja
