#include "probe/rounds.h"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace millrace {

ProbeClock steadyProbeClock() {
  return [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
}

bool RoundLoop::next() {
  ++m_done;
  if (m_done < 0) return true;
  if (m_done == 0) m_began = m_clock();
  return m_done < m_rounds.least || (m_done < m_rounds.most && m_clock() - m_began < m_rounds.seconds);
}

double median(std::vector<double> values) {
  assert(!values.empty());
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

} // namespace millrace
