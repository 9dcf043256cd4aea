// Pace: how long a step takes on the clock, evaluations and checkpoints included, pauses not. Plain values.
#pragma once

#include <algorithm>
#include <optional>

namespace millrace::ui {

class Pace {
 public:
  /// time: when the step ended, seconds. own: what the step itself took.
  void step(double time, double own) {
    // Between steps that follow each other; the first after a pause tells of itself alone.
    const bool follows = m_last && !m_broken && time >= *m_last;
    const double seconds = follows ? time - *m_last : own;
    ++m_steps;
    const double share = std::max(0.02, 1.0 / m_steps);
    m_seconds += share * (seconds - m_seconds);
    m_last = time;
    m_broken = false;
  }

  /// What comes between this step and the next is not part of training.
  void interrupt() { m_broken = true; }

  std::optional<double> secondsPerStep() const {
    if (m_steps == 0) return std::nullopt;
    return m_seconds;
  }

 private:
  std::optional<double> m_last;
  bool m_broken = false;
  double m_seconds = 0;
  double m_steps = 0;
};

} // namespace millrace::ui
