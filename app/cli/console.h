// What the program says: results and lines for people on standard output, errors on standard error, and a line of
// progress that is rewritten on a terminal. The main thread only.
#pragma once

#include "output.h"

#include <chrono>
#include <string>
#include <string_view>

namespace millrace::cli {

class Console {
 public:
  Console();

  /// From now on standard output carries JSON alone; what people should see goes to standard error.
  void reserveOutput() { m_reserved = true; }
  bool outputReserved() const { return m_reserved; }

  /// Standard output, as it is; for results. Buffered: flush() when somebody may be waiting.
  Output& out() { return m_out; }
  /// A result line, out at once.
  void result(std::string_view line);

  /// A line for people, out at once.
  void line(std::string_view text);
  /// On a terminal the line that is rewritten; elsewhere a line now and then, unless `important`. Dropped when standard
  /// output is reserved and standard error is no terminal.
  void progress(std::string_view text, bool important = false);
  /// Takes the rewritten line away, or (keep) leaves its last state standing.
  void endProgress(bool keep = false);
  /// Whether progress is one line that is rewritten.
  bool rewritesProgress() const { return people().isTerminal(); }
  /// Whether progress() would show anything now: texts need not be made for nothing.
  bool progressDue() const;

  /// "warning: <message>" on standard error: for commands whose output is a text of its own.
  void warning(std::string_view message);
  /// "millrace: <message>" on standard error.
  void error(std::string_view message);
  void flush();

 private:
  using Clock = std::chrono::steady_clock;
  Output& people() { return m_reserved ? m_error : m_out; }
  const Output& people() const { return m_reserved ? m_error : m_out; }

  Output m_out;
  Output m_error;
  bool m_reserved = false;
  std::string m_progress;    ///< what stands in the rewritten line
  Clock::time_point m_shown; ///< when progress was shown last, at first the program's start
};

/// The text without what could change a terminal's state or the direction of other text; line feeds and tabs stay.
std::string printable(std::string_view text);

} // namespace millrace::cli
