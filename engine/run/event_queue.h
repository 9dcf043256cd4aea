// The bounded queue between the threads of a run and whoever shows it: many producers, one consumer.
#pragma once

#include "base/mutex.h"
#include "engine/run_event.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace millrace {

class EventQueue {
 public:
  struct Drained {
    std::vector<RunEvent> events; ///< in the order they were pushed
    std::uint64_t dropped = 0;    ///< events lost to fullness since the drain before; metrics.jsonl has the steps
  };

  /// capacity: how many steps, samples and log lines wait at most; when there are more, the oldest goes. State changes,
  /// evaluations, checkpoints, alerts and errors are never dropped.
  /// wake: called once per burst, on the thread whose push made the queue non-empty since the last drain, outside the
  /// lock; it should make the consumer call drain() and return soon. It must stay callable as long as anyone pushes.
  EventQueue(std::size_t capacity, std::function<void()> wake);

  /// Any thread. Never blocks on the consumer.
  void push(RunEvent event);

  /// Everything that waits. The consumer's thread only. A push after it wakes again.
  Drained drain();

 private:
  struct Entry {
    std::uint64_t number = 0;
    RunEvent event;
  };

  const std::size_t m_capacity;
  const std::function<void()> m_wake;
  Mutex m_mutex;
  std::deque<Entry> m_kept MILLRACE_GUARDED_BY(m_mutex);
  std::deque<Entry> m_droppable MILLRACE_GUARDED_BY(m_mutex);
  std::uint64_t m_next MILLRACE_GUARDED_BY(m_mutex) = 0;
  std::uint64_t m_dropped MILLRACE_GUARDED_BY(m_mutex) = 0;
  bool m_woken MILLRACE_GUARDED_BY(m_mutex) = false;
};

} // namespace millrace
