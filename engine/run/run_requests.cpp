#include "run/run_requests.h"

namespace millrace {

void RunRequests::pause() {
  Lock lock(m_mutex);
  m_paused = true;
}

void RunRequests::resume() {
  Lock lock(m_mutex);
  m_paused = false;
  m_changed.notifyAll();
}

void RunRequests::checkpoint() {
  Lock lock(m_mutex);
  m_checkpoint = true;
  m_changed.notifyAll();
}

void RunRequests::stop() {
  Lock lock(m_mutex);
  ++m_stops;
  m_changed.notifyAll();
}

bool RunRequests::stopping() const {
  Lock lock(m_mutex);
  return m_stops > 0;
}

bool RunRequests::abandoning() const {
  Lock lock(m_mutex);
  return m_stops > 1;
}

bool RunRequests::paused() const {
  Lock lock(m_mutex);
  return m_paused;
}

bool RunRequests::takeCheckpoint() {
  Lock lock(m_mutex);
  const bool asked = m_checkpoint;
  m_checkpoint = false;
  return asked;
}

void RunRequests::waitWhilePaused() {
  Lock lock(m_mutex);
  while (m_paused && m_stops == 0 && !m_checkpoint) m_changed.wait(m_mutex);
}

bool RunRequests::waitForStop(std::chrono::milliseconds limit) {
  Lock lock(m_mutex);
  const auto end = std::chrono::steady_clock::now() + limit;
  while (m_stops == 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    m_changed.waitFor(m_mutex, left);
  }
  return true;
}

} // namespace millrace
