#include "run/event_queue.h"

#include <algorithm>
#include <utility>

namespace millrace {

namespace {

bool isDroppable(const RunEvent& event) {
  if (const auto* line = std::get_if<LogLine>(&event.body)) return line->severity != Severity::Error;
  return std::holds_alternative<StepMetrics>(event.body) || std::holds_alternative<Sample>(event.body);
}

} // namespace

EventQueue::EventQueue(std::size_t capacity, std::function<void()> wake)
    : m_capacity(std::max<std::size_t>(1, capacity)), m_wake(std::move(wake)) {}

void EventQueue::push(RunEvent event) {
  bool wake = false;
  {
    Lock lock(m_mutex);
    if (isDroppable(event)) {
      if (m_droppable.size() == m_capacity) {
        m_droppable.pop_front();
        ++m_dropped;
      }
      m_droppable.push_back({m_next++, std::move(event)});
    } else {
      m_kept.push_back({m_next++, std::move(event)});
    }
    wake = !std::exchange(m_woken, true);
  }
  if (wake && m_wake) m_wake();
}

EventQueue::Drained EventQueue::drain() {
  std::deque<Entry> kept, droppable;
  Drained drained;
  {
    Lock lock(m_mutex);
    m_woken = false;
    kept.swap(m_kept);
    droppable.swap(m_droppable);
    drained.dropped = std::exchange(m_dropped, 0);
  }
  drained.events.reserve(kept.size() + droppable.size());
  auto a = kept.begin();
  auto b = droppable.begin();
  while (a != kept.end() || b != droppable.end()) {
    const bool first = b == droppable.end() || (a != kept.end() && a->number < b->number);
    drained.events.push_back(std::move((first ? *a++ : *b++).event));
  }
  return drained;
}

} // namespace millrace
