// A run's events for people or for programs: what train, resume and watch print. The main thread only.
#pragma once

#include "console.h"
#include "engine/project.h" // sizes, counts and durations as text
#include "engine/run_event.h"

#include <chrono>
#include <optional>

namespace millrace::cli {

class RunDisplay {
 public:
  explicit RunDisplay(Console& console) : m_console(console) {}

  /// As a JSON line when the console's output is reserved for such, else as text.
  void show(const RunEvent& event);
  /// Leaves the last progress line standing.
  void finish();

  /// The step of the last sample that was shown; -1: none was.
  std::int64_t lastSampleStep() const { return m_lastSampleStep; }

 private:
  void showText(const RunEvent& event);
  void showState(const StateChanged& change);
  void showStep(const StepMetrics& metrics);
  std::string progressText(const StepMetrics& metrics) const;
  /// Steps that are still to come, at the pace of the last ones; nothing while either is not known.
  std::optional<double> secondsLeft(const StepMetrics& metrics) const;

  Console& m_console;
  std::optional<StepMetrics> m_last;
  bool m_lastShown = true;
  RunState m_state = RunState::Preparing;
  bool m_rested = false; ///< paused since the last step
  std::string m_lastWarning;
  std::int64_t m_lastSampleStep = -1;
  double m_secondsPerStep = 0; ///< smoothed; 0: not known
  double m_secondsBetween = 0; ///< of what lay between the steps that were seen one after another
  std::int64_t m_stepsSeen = 0;
};

} // namespace millrace::cli
