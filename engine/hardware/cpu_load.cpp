#include "hardware/cpu_load.h"

#include <algorithm>

namespace millrace {

CpuLoad::CpuLoad(SystemFiles files) : m_files(std::move(files)), m_last(look()) {}

std::optional<double> CpuLoad::take() {
  const std::optional<Times> before = m_last;
  m_last = look();
  if (!before || !m_last || m_last->all <= before->all) return std::nullopt;
  const auto busy = static_cast<double>(m_last->busy - before->busy);
  return std::clamp(busy / static_cast<double>(m_last->all - before->all), 0.0, 1.0);
}

std::optional<CpuLoad::Times> CpuLoad::look() const {
  // user, nice, system, idle, iowait, irq, softirq, steal; what guests took is in the first two already.
  constexpr std::size_t idle = 3, waiting = 4, counted = 8;
  const std::string text = m_files.text("/proc/stat").value_or("");
  const auto words = wordsAfter(text, "cpu");
  if (words.size() <= idle) return std::nullopt;
  Times times;
  for (std::size_t i = 0; i < std::min(words.size(), counted); ++i) {
    const auto ticks = parseInteger(words[i]);
    if (!ticks) return std::nullopt;
    times.all += *ticks;
    if (i != idle && i != waiting) times.busy += *ticks;
  }
  return times;
}

} // namespace millrace
