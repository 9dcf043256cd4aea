#include "charts/series_plottable.h"

#include "charts/drawable.h"

#include "charts/edge_marks.h"
#include "charts/line_runs.h"
#include "charts/pixel_spans.h"

#include <algorithm>
#include <cmath>

namespace millrace::ui {

namespace {

constexpr double dotSize = 5;

void drawDot(QCPPainter& painter, const QPointF& at, double size) {
  painter.drawEllipse(at, size / 2, size / 2);
}

/// Piece by piece: the time for a path goes with the square of its crossings, and noise has many.
void drawLine(QCPPainter& painter, const QPolygonF& line, QPen pen) {
  const bool vector = painter.modes().testFlag(QCPPainter::pmVectorized);
  const qsizetype pieceLength = vector ? line.size() : 16;
  double drawn = 0;
  for (qsizetype begin = 0; begin + 1 < line.size(); begin += pieceLength) {
    const qsizetype count = std::min(pieceLength + 1, line.size() - begin);
    if (pen.style() == Qt::CustomDashLine) pen.setDashOffset(drawn / pen.widthF());
    painter.setPen(pen);
    painter.drawPolyline(line.constData() + begin, static_cast<int>(count));
    if (pen.style() != Qt::CustomDashLine) continue;
    for (qsizetype i = begin + 1; i < begin + count; ++i)
      drawn += std::hypot(line[i].x() - line[i - 1].x(), line[i].y() - line[i - 1].y());
  }
}

} // namespace

void drawSample(QCPPainter& painter, const SeriesLook& look, const QRectF& rect) {
  painter.setAntialiasing(true);
  QPen pen(look.color, look.hasPoints ? 1 : std::max(look.width, 1.5), Qt::SolidLine, Qt::FlatCap);
  if (!look.dashes.isEmpty()) pen.setDashPattern(look.dashes);
  painter.setPen(pen);
  painter.drawLine(QPointF(rect.left(), rect.center().y()), QPointF(rect.right(), rect.center().y()));
  if (!look.hasPoints) return;
  painter.setPen(Qt::NoPen);
  painter.setBrush(look.color);
  drawDot(painter, rect.center(), dotSize + 1);
}

SeriesPlottable::SeriesPlottable(QCPAxis* x, QCPAxis* y, std::function<Series()> series)
    : QCPAbstractPlottable(x, y), m_series(std::move(series)) {
  setSelectable(QCP::stNone);
}

double SeriesPlottable::selectTest(const QPointF&, bool, QVariant*) const {
  return -1;
}

QCPRange SeriesPlottable::getKeyRange(bool& foundRange, QCP::SignDomain) const {
  foundRange = false; // the chart sets its ranges itself
  return {};
}

QCPRange SeriesPlottable::getValueRange(bool& foundRange, QCP::SignDomain, const QCPRange&) const {
  foundRange = false;
  return {};
}

void SeriesPlottable::drawLegendIcon(QCPPainter* painter, const QRectF& rect) const {
  drawSample(*painter, m_look, rect);
}

bool SeriesPlottable::canShow(double value) const {
  return isDrawable(value) && (value > 0 || mValueAxis->scaleType() == QCPAxis::stLinear);
}

QPen SeriesPlottable::linePen() const {
  return {m_look.color, m_look.hasPoints ? 1 : m_look.width, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin};
}

void SeriesPlottable::draw(QCPPainter* painter) {
  const bool vector = painter->modes().testFlag(QCPPainter::pmVectorized);
  const double ratio = vector ? 1 : painter->device()->devicePixelRatioF();
  const int pixels = static_cast<int>(std::lround(mKeyAxis->axisRect()->width() * ratio));
  const QCPRange range = mKeyAxis->range();
  const Envelope envelope = envelopeOf(m_series(), range.lower, range.upper, pixels);
  const auto count = static_cast<int>(envelope.points.size());
  if (vector && !envelope.isExact)
    drawOutline(*painter, envelope);
  else if (!envelope.isExact)
    drawColumns(*painter, envelope, ratio);
  else if (!vector && count > std::min(pixels, m_look.mostSmooth))
    drawDensePoints(*painter, envelope, ratio);
  else
    drawPoints(*painter, envelope, pixels / ratio);
  drawMarks(*painter, envelope, ratio);
}

void SeriesPlottable::drawPoints(QCPPainter& painter, const Envelope& envelope, double width) const {
  LineRuns runs(clipRect());
  QList<QPointF> dots;
  for (const Envelope::Point& point : envelope.points) {
    if (!canShow(point.y)) {
      runs.interrupt();
      continue;
    }
    const QPointF at(mKeyAxis->coordToPixel(point.x), mValueAxis->coordToPixel(point.y));
    runs.add(at);
    if (m_look.hasPoints && clipRect().adjusted(-3, -3, 3, 3).contains(at.toPoint())) dots.push_back(at);
  }
  runs.interrupt();
  drawRuns(painter, runs);
  if (static_cast<double>(dots.size()) > width / 4) return; // they would hide the line
  for (const QPointF& dot : dots) drawDot(painter, dot, dotSize);
}

void SeriesPlottable::drawDensePoints(QCPPainter& painter, const Envelope& envelope, double ratio) const {
  PixelSpans spans = emptySpans(ratio);
  const double left = clipRect().left() * ratio;
  bool joins = false;
  double beforeX = 0, beforeY = 0;
  for (const Envelope::Point& point : envelope.points) {
    const bool shows = canShow(point.y);
    if (shows) {
      const double x = mKeyAxis->coordToPixel(point.x) * ratio - left, y = mValueAxis->coordToPixel(point.y) * ratio;
      spans.join(joins ? beforeX : x, joins ? beforeY : y, x, y);
      beforeX = x;
      beforeY = y;
    }
    joins = shows;
  }
  drawSpans(painter, spans, ratio);
}

/// Where a line is flat and there is time for it, it is drawn smooth; what stands out is drawn as spans.
void SeriesPlottable::drawColumns(QCPPainter& painter, const Envelope& envelope, double ratio) const {
  const bool smooth = static_cast<int>(envelope.columns.size()) <= m_look.mostSmooth;
  const bool logarithmic = mValueAxis->scaleType() == QCPAxis::stLogarithmic;
  const auto pixelOf = [&](double value) { return mValueAxis->coordToPixel(value) * ratio; };
  PixelSpans spans = emptySpans(ratio);
  LineRuns runs(clipRect());
  bool joins = false;
  double beforeX = 0, beforeY = 0;
  for (const Envelope::Column& column : envelope.columns) {
    const bool beginsHere = canShow(column.first), goesOn = canShow(column.last);
    const double low = logarithmic ? column.extent.minPositive : column.extent.min;
    const double x = column.pixel + 0.5;
    const auto place = [&](double y) { return QPointF(clipRect().left() + x / ratio, y / ratio); };
    if (!beginsHere) runs.interrupt();
    if (low <= column.extent.max) {
      const double top = pixelOf(column.extent.max), bottom = pixelOf(low);
      if (smooth && bottom - top < 2.5 * ratio) {
        runs.add(place((top + bottom) / 2));
      } else {
        spans.cover(column.pixel, top, bottom);
        if (smooth && beginsHere) runs.add(place(pixelOf(column.first)));
        if (smooth && goesOn) runs.add(place(pixelOf(column.last)));
        if (!smooth && joins && beginsHere) spans.join(beforeX, beforeY, x, pixelOf(column.first));
      }
    }
    if (!goesOn) runs.interrupt();
    joins = goesOn;
    beforeX = x;
    if (goesOn) beforeY = pixelOf(column.last);
  }
  runs.interrupt();
  drawSpans(painter, spans, ratio);
  drawRuns(painter, runs);
}

PixelSpans SeriesPlottable::emptySpans(double ratio) const {
  const QRect area = clipRect();
  return {static_cast<int>(std::lround(area.left() * ratio)), static_cast<int>(std::lround(area.width() * ratio)),
          (area.top() - 20) * ratio, (area.bottom() + 20) * ratio};
}

void SeriesPlottable::drawSpans(QCPPainter& painter, const PixelSpans& spans, double ratio) const {
  const QPen pen = linePen();
  QList<double> dashes;
  for (const qreal length : m_look.dashes) dashes.push_back(length * pen.widthF() * ratio);
  painter.save();
  painter.setAntialiasing(false);
  painter.scale(1 / ratio, 1 / ratio); // device pixels
  painter.setPen(Qt::NoPen);
  painter.setBrush(m_look.color);
  painter.drawRects(spans.rects(std::max(1, static_cast<int>(std::lround(pen.widthF() * ratio))), dashes));
  painter.restore();
}

void SeriesPlottable::drawRuns(QCPPainter& painter, const LineRuns& runs) const {
  painter.setAntialiasing(true);
  QPen pen = linePen();
  if (!m_look.dashes.isEmpty()) {
    pen.setDashPattern(m_look.dashes);
    pen.setCapStyle(Qt::FlatCap);
  }
  painter.setBrush(Qt::NoBrush);
  for (const QPolygonF& line : runs.lines()) drawLine(painter, line, pen);
  painter.setPen(Qt::NoPen);
  painter.setBrush(m_look.color);
  for (const QPointF& lone : runs.lonePoints()) drawDot(painter, lone, std::max(4.0, m_look.width + 2));
}

/// For files of lines, not of pixels: through all that stands out.
void SeriesPlottable::drawOutline(QCPPainter& painter, const Envelope& envelope) const {
  const bool logarithmic = mValueAxis->scaleType() == QCPAxis::stLogarithmic;
  LineRuns runs(clipRect());
  for (const Envelope::Column& column : envelope.columns) {
    const bool beginsHere = canShow(column.first), goesOn = canShow(column.last);
    const double low = logarithmic ? column.extent.minPositive : column.extent.min;
    const double x = clipRect().left() + column.pixel + 0.5;
    const auto add = [&](double y) { runs.add({x, y}); };
    const auto pixelOf = [&](double value) { return mValueAxis->coordToPixel(value); };
    if (!beginsHere) runs.interrupt();
    if (low <= column.extent.max) {
      const double top = pixelOf(column.extent.max), bottom = pixelOf(low);
      const bool flat = bottom - top < 1;
      if (beginsHere && !flat) add(pixelOf(column.first));
      add(flat ? (top + bottom) / 2 : bottom);
      if (!flat) add(top);
      if (goesOn && !flat) add(pixelOf(column.last));
    }
    if (!goesOn) runs.interrupt();
  }
  runs.interrupt();
  drawRuns(painter, runs);
}

void SeriesPlottable::drawMarks(QCPPainter& painter, const Envelope& envelope, double ratio) const {
  EdgeMarks marks(clipRect(), m_look.markColor, m_look.row);
  const bool logarithmic = mValueAxis->scaleType() == QCPAxis::stLogarithmic;
  const auto add = [&](double x, const Extent& extent) {
    if (m_look.marksNan && extent.nan > 0) marks.add(EdgeMark::Nan, x);
    if (!m_look.marksInfinite) return;
    if (extent.positiveInfinite > 0) marks.add(EdgeMark::PositiveInfinite, x);
    if (extent.negativeInfinite > 0) marks.add(EdgeMark::NegativeInfinite, x);
    if (logarithmic && extent.notPositive > 0) marks.add(EdgeMark::NotPositive, x);
  };
  for (const Envelope::Column& column : envelope.columns) add(clipRect().left() + column.pixel / ratio, column.extent);
  const QCPRange range = mKeyAxis->range();
  for (const Envelope::Point& point : envelope.points) {
    if (canShow(point.y) || !range.contains(point.x)) continue;
    Extent extent;
    extent.add(point.y);
    add(mKeyAxis->coordToPixel(point.x), extent);
  }
  marks.draw(painter);
}

} // namespace millrace::ui
