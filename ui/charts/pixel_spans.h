// A line as one vertical span a column of device pixels, the way it is drawn where it is dense: however much of it
// there is in a column, one rectangle is painted. Made for one drawing.
#pragma once

#include <QList>
#include <QRect>
#include <vector>

namespace millrace::ui {

class PixelSpans {
 public:
  /// Columns from `left` on; spans are cut to [top, bottom]. All in device pixels.
  PixelSpans(int left, int columns, double top, double bottom);

  /// From y to other, in a column counted from `left`.
  void cover(int column, double y, double other);
  /// The straight line between two places; x counted from `left`, fromX <= toX.
  void join(double fromX, double fromY, double toX, double toY);

  /// In a line of this width. Dashes are in device pixels and only leave out what is flat: nothing that stands out.
  QList<QRect> rects(int width, const QList<double>& dashes) const;

 private:
  struct Span {
    float top;
    float bottom;
  };
  bool reachesLike(std::size_t column, const Span& span) const;

  const int m_left;
  const double m_top, m_bottom;
  std::vector<Span> m_spans; ///< top above bottom: nothing there
};

} // namespace millrace::ui
