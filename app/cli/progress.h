// Progress of work whose amount is known: percent, rate and time left, as one line.
#pragma once

#include "console.h"

namespace millrace::cli {

class Progress {
 public:
  explicit Progress(Console& console) : m_console(console) {}

  /// what: "reading"; unit: how amounts of it are written. A new `what` begins anew.
  enum class Unit { Bytes, Count };
  void update(const std::string& what, Unit unit, std::int64_t done, std::int64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  Console& m_console;
  std::string m_what;
  Clock::time_point m_began;
  std::int64_t m_doneAtStart = 0;
};

} // namespace millrace::cli
