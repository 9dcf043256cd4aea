// Draws one series of a chart from its envelope: lines between points where there are few, vertical spans from smallest
// to largest value in each pixel column where there are many, and marks at the edge where a value cannot be shown.
// Belongs to its plot; GUI thread.
#pragma once

#include "charts/envelope.h"
#include "charts/plot_library.h"

#include <functional>

namespace millrace::ui {

struct SeriesLook {
  QColor color;
  QColor markColor; ///< of marks at the edge
  QList<qreal> dashes;
  double width = 1.5;
  bool hasPoints = false;    ///< a dot a row, where they are few
  bool marksInfinite = true; ///< and what a logarithmic axis has no place for
  bool marksNan = true;      ///< else NaN means that there is no value
  int row = 0;               ///< of marks, counted from the edge: those of other series stay visible
  int mostSmooth = 1500;     ///< points up to which lines are antialiased, which takes its time
};

class LineRuns;
class PixelSpans;

/// A piece of line or a dot, as in legends.
void drawSample(QCPPainter& painter, const SeriesLook& look, const QRectF& rect);

class SeriesPlottable final : public QCPAbstractPlottable {
 public:
  SeriesPlottable(QCPAxis* x, QCPAxis* y, std::function<Series()> series);

  void setLook(const SeriesLook& look) { m_look = look; }
  const SeriesLook& look() const { return m_look; }

  double selectTest(const QPointF& pos, bool onlySelectable, QVariant* details) const override;
  QCPRange getKeyRange(bool& foundRange, QCP::SignDomain inSignDomain) const override;
  QCPRange getValueRange(bool& foundRange, QCP::SignDomain inSignDomain, const QCPRange& inKeyRange) const override;

 protected:
  void draw(QCPPainter* painter) override;
  void drawLegendIcon(QCPPainter* painter, const QRectF& rect) const override;

 private:
  void drawPoints(QCPPainter& painter, const Envelope& envelope, double width) const;
  void drawDensePoints(QCPPainter& painter, const Envelope& envelope, double ratio) const;
  void drawColumns(QCPPainter& painter, const Envelope& envelope, double ratio) const;
  void drawOutline(QCPPainter& painter, const Envelope& envelope) const;
  void drawMarks(QCPPainter& painter, const Envelope& envelope, double ratio) const;
  PixelSpans emptySpans(double ratio) const;
  void drawSpans(QCPPainter& painter, const PixelSpans& spans, double ratio) const;
  void drawRuns(QCPPainter& painter, const LineRuns& runs) const;
  bool canShow(double value) const;
  QPen linePen() const;

  const std::function<Series()> m_series;
  SeriesLook m_look;
};

} // namespace millrace::ui
