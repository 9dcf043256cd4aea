#include "progress.h"

#include "engine/project_file.h"

#include <cmath>
#include <fmt/format.h>

namespace millrace::cli {

void Progress::update(const std::string& what, Unit unit, std::int64_t done, std::int64_t total) {
  if (what != m_what) {
    m_what = what;
    m_began = Clock::now();
    m_doneAtStart = done;
  }
  if (!m_console.progressDue()) return;
  const auto written = [unit](std::int64_t amount) {
    return unit == Unit::Bytes ? formatBytes(amount) : formatCount(amount);
  };
  std::string text = fmt::format("{} {}", what, written(done));
  if (total > 0)
    text +=
        fmt::format(" of {} ({:.0f}%)", written(total), 100.0 * static_cast<double>(done) / static_cast<double>(total));
  const double seconds = std::chrono::duration<double>(Clock::now() - m_began).count();
  if (seconds > 0.5 && done > m_doneAtStart) {
    const double rate = static_cast<double>(done - m_doneAtStart) / seconds;
    text += fmt::format("  {}/s", written(std::llround(rate)));
    if (total > done) text += "  ETA " + formatDuration(static_cast<double>(total - done) / rate);
  }
  m_console.progress(text);
}

} // namespace millrace::cli
