#include "charts/line_runs.h"

#include <algorithm>
#include <utility>

namespace millrace::ui {

namespace {

/// The part of the segment inside the bounds (Liang and Barsky); false if there is none.
bool clip(QPointF& from, QPointF& to, const QRectF& bounds) {
  const QPointF delta = to - from;
  double enter = 0, leave = 1;
  for (const auto& [direction, distance] :
       {std::pair{-delta.x(), from.x() - bounds.left()}, std::pair{delta.x(), bounds.right() - from.x()},
        std::pair{-delta.y(), from.y() - bounds.top()}, std::pair{delta.y(), bounds.bottom() - from.y()}}) {
    if (direction == 0) {
      if (distance < 0) return false;
      continue;
    }
    const double at = distance / direction;
    if (direction < 0)
      enter = std::max(enter, at);
    else
      leave = std::min(leave, at);
  }
  if (!(enter <= leave)) return false;
  const QPointF start = from;
  if (leave < 1) to = start + delta * leave;
  if (enter > 0) from = start + delta * enter;
  return true;
}

} // namespace

void LineRuns::add(const QPointF& point) {
  if (++m_joined > 1) {
    QPointF from = m_last, to = point;
    if (clip(from, to, m_bounds)) {
      if (m_line.isEmpty() || m_line.last() != from) {
        endLine();
        m_line.push_back(from);
      }
      m_line.push_back(to);
    }
  }
  m_last = point;
}

void LineRuns::interrupt() {
  if (m_joined == 1 && m_bounds.contains(m_last)) m_lonePoints.push_back(m_last);
  endLine();
  m_joined = 0;
}

void LineRuns::endLine() {
  if (!m_line.isEmpty()) m_lines.push_back(std::exchange(m_line, {}));
}

} // namespace millrace::ui
