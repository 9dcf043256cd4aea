#include "charts/edge_marks.h"

namespace millrace::ui {

namespace {

constexpr double size = 7;
constexpr int rows = 4;

bool isAtTop(EdgeMark mark) {
  return mark == EdgeMark::Nan || mark == EdgeMark::PositiveInfinite;
}

} // namespace

/// The outer y of this row of marks.
double EdgeMarks::edge(EdgeMark mark) const {
  const double inwards = 1 + (m_row % rows) * (size + 2);
  return isAtTop(mark) ? m_area.top() + inwards : m_area.bottom() - inwards;
}

void EdgeMarks::draw(QCPPainter& painter) const {
  for (std::size_t kind = 0; kind < m_places.size(); ++kind) {
    const auto mark = static_cast<EdgeMark>(kind);
    const QList<double>& places = m_places[kind];
    if (places.isEmpty()) continue;
    painter.setAntialiasing(false);
    for (qsizetype begin = 0, end = 0; begin < places.size(); begin = end) {
      for (end = begin + 1; end < places.size() && places[end] - places[end - 1] <= 2;) ++end;
      const double y = edge(mark) + (isAtTop(mark) ? -1 : 0);
      const double length = std::max(1.0, places[end - 1] - places[begin] + 1);
      painter.fillRect(QRectF(places[begin], y, length, 1.5), m_color);
    }
    double last = -size * 2;
    for (const double x : places) {
      if (x - last < size + 2) continue;
      drawShape(painter, mark, x);
      last = x;
    }
  }
}

void EdgeMarks::drawShape(QCPPainter& painter, EdgeMark mark, double x) const {
  const double outer = edge(mark);
  const double inner = isAtTop(mark) ? outer + size : outer - size;
  const double half = size / 2;
  QPolygonF shape;
  if (mark == EdgeMark::Nan)
    shape = {{x - half, outer}, {x + half, inner}, {x + half, outer}, {x - half, inner}};
  else
    shape = {{x, outer}, {x + half, inner}, {x - half, inner}};
  painter.setAntialiasing(true);
  painter.setPen(QPen(m_color, 1.2, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
  painter.setBrush(mark == EdgeMark::NotPositive ? QBrush(Qt::NoBrush) : QBrush(m_color));
  painter.drawPolygon(shape);
}

} // namespace millrace::ui
