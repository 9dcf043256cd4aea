// When a chart may paint again: about 30 times a second at most, and never so often that painting takes more than two
// thirds of the time; where a frame takes over a tenth of a second, as over a slow remote connection, twice a second.
// Plain values; times in seconds of any clock that does not go back.
#pragma once

#include <algorithm>

namespace millrace::ui {

class RepaintPace {
 public:
  static constexpr double fastest = 1.0 / 32; ///< timers come late, by whole milliseconds: 30 a second are reached
  static constexpr double slowest = 0.5;

  /// A frame was painted from `begin` to `end`.
  void painted(double begin, double end) {
    m_seconds = std::max(0.0, end - begin);
    m_average += (m_any ? 0.25 : 1) * (m_seconds - m_average);
    m_any = true;
    m_last = begin;
    // Back to fast only when clearly below, so as not to change with every frame.
    m_slow = m_average > (m_slow ? 0.07 : 0.1);
  }

  /// How many charts paint as often as this one in the same thread.
  void setCompanions(int charts) { m_companions = std::max(1, charts); }

  double lastSeconds() const { return m_seconds; }
  double averageSeconds() const { return m_average; }
  double interval() const { return m_slow ? slowest : std::clamp(1.5 * m_average * m_companions, fastest, slowest); }
  /// From `now` on; 0: at once.
  double delay(double now) const { return m_any ? std::clamp(m_last + interval() - now, 0.0, interval()) : 0; }

 private:
  double m_seconds = 0;
  double m_average = 0;
  double m_last = 0;
  int m_companions = 1;
  bool m_any = false;
  bool m_slow = false;
};

} // namespace millrace::ui
