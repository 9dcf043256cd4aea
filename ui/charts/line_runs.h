// Points gathered into polylines that stay near a rectangle: far outside of it, painters lose their precision. Values.
#pragma once

#include <QList>
#include <QPolygonF>
#include <QRectF>

namespace millrace::ui {

class LineRuns {
 public:
  /// Lines are cut a little outside of `area`.
  explicit LineRuns(const QRectF& area) : m_bounds(area.adjusted(-margin, -margin, margin, margin)) {}

  void add(const QPointF& point);
  /// The next point is not joined to the last.
  void interrupt();

  const QList<QPolygonF>& lines() const { return m_lines; }
  /// Points with no neighbour to be joined to.
  const QList<QPointF>& lonePoints() const { return m_lonePoints; }

 private:
  static constexpr double margin = 100;

  void endLine();

  const QRectF m_bounds;
  QList<QPolygonF> m_lines;
  QList<QPointF> m_lonePoints;
  QPolygonF m_line;
  QPointF m_last;
  int m_joined = 0; ///< points since the interruption
};

} // namespace millrace::ui
