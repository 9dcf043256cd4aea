// Marks at the edge of a chart where a value has no place in it: one shape a kind. Where they are many, some carry the
// shape and a bar along the edge shows them all. Made for one drawing.
#pragma once

#include "charts/plot_library.h"

#include <array>

namespace millrace::ui {

enum class EdgeMark {
  Nan,              ///< top: two triangles, tip to tip
  PositiveInfinite, ///< top: filled, pointing up
  NegativeInfinite, ///< bottom: filled, pointing down
  NotPositive,      ///< bottom: hollow, pointing down; on a logarithmic axis
};

class EdgeMarks {
 public:
  /// row: how many marks' height from the edge, for several series in one chart.
  EdgeMarks(const QRectF& area, const QColor& color, int row) : m_area(area), m_color(color), m_row(row) {}

  /// x in pixels, not falling.
  void add(EdgeMark mark, double x) { m_places[static_cast<std::size_t>(mark)].push_back(x); }
  void draw(QCPPainter& painter) const;

 private:
  void drawShape(QCPPainter& painter, EdgeMark mark, double x) const;
  double edge(EdgeMark mark) const;

  const QRectF m_area;
  const QColor m_color;
  const int m_row;
  std::array<QList<double>, 4> m_places;
};

} // namespace millrace::ui
