// EventBox: events between the thread that reads a run and the GUI thread. Bounded: the reader waits while the window
// is behind, so that the history of a long run is never in memory twice.
#pragma once

#include "engine/run_event.h"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace millrace::ui {

class EventBox {
 public:
  /// Reader's thread. Waits for room. True: the box was empty, so that somebody has to be woken. Once closed nothing is
  /// taken in.
  bool put(RunEvent event) {
    std::unique_lock lock(m_mutex);
    m_room.wait(lock, [this] { return m_closed || m_events.size() < capacity; });
    if (m_closed) return false;
    m_events.push_back(std::move(event));
    return m_events.size() == 1;
  }

  /// GUI thread: everything that waits, oldest first.
  std::vector<RunEvent> take() {
    std::vector<RunEvent> events;
    {
      const std::lock_guard lock(m_mutex);
      events.swap(m_events);
    }
    m_room.notify_all();
    return events;
  }

  /// Any thread.
  bool isClosed() {
    const std::lock_guard lock(m_mutex);
    return m_closed;
  }

  /// Any thread: the reader does not wait any more.
  void close() {
    {
      const std::lock_guard lock(m_mutex);
      m_closed = true;
    }
    m_room.notify_all();
  }

 private:
  /// What the GUI thread takes in at one time: few milliseconds' worth.
  static constexpr std::size_t capacity = 2048;

  std::mutex m_mutex; // guards what follows
  std::condition_variable m_room;
  std::vector<RunEvent> m_events;
  bool m_closed = false;
};

} // namespace millrace::ui
