// The time that training takes: runs from step to step, reading data and telling of the step before with it, and stands
// still while something else is done, such as an evaluation or a pause. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace millrace {

class StepClock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit StepClock(std::function<TimePoint()> now = std::chrono::steady_clock::now)
      : m_now(std::move(now)), m_start(m_now()) {}

  /// Stops the clock for as long as it lives; may be nested.
  class Stop {
   public:
    explicit Stop(StepClock& clock) : m_clock(clock) {
      if (m_clock.m_stops++ == 0) m_clock.m_seconds += m_clock.sinceStart();
    }
    ~Stop() {
      if (--m_clock.m_stops == 0) m_clock.m_start = m_clock.m_now();
    }
    Stop(const Stop&) = delete;
    Stop& operator=(const Stop&) = delete;

   private:
    StepClock& m_clock;
  };

  bool running() const { return m_stops == 0; }

  /// Seconds since the last call, or since the beginning. For a running clock.
  double take() {
    const double seconds = std::exchange(m_seconds, 0.0) + sinceStart();
    m_start = m_now();
    return seconds;
  }

 private:
  double sinceStart() const { return std::chrono::duration<double>(m_now() - m_start).count(); }

  std::function<TimePoint()> m_now;
  TimePoint m_start;
  double m_seconds = 0; ///< of what was before the last stop
  int m_stops = 0;
};

} // namespace millrace
