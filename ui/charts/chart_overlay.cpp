#include "charts/chart_overlay.h"

#include <algorithm>
#include <cmath>

namespace millrace::ui {

ChartOverlay::ChartOverlay(QCPAxisRect* area)
    : QCPLayerable(area->parentPlot(), QStringLiteral("overlay")), m_area(area) {}

void ChartOverlay::applyDefaultAntialiasingHint(QCPPainter* painter) const {
  painter->setAntialiasing(false);
}

void ChartOverlay::draw(QCPPainter* painter) {
  const QRectF area = m_area->rect();
  painter->setAntialiasing(false);
  if (focused) {
    painter->setPen(QPen(colors.highlight, 1));
    painter->setBrush(Qt::NoBrush);
    painter->drawRect(area.adjusted(0, 0, -1, -1));
  }
  if (!text.isEmpty()) {
    painter->setPen(colors.dim);
    painter->setFont(parentPlot()->font());
    painter->drawText(area, Qt::AlignCenter | Qt::TextWordWrap, text);
  }
  if (band) {
    QColor fill = colors.highlight;
    fill.setAlpha(56);
    const double left = std::clamp(std::min(band->first, band->second), area.left(), area.right());
    const double right = std::clamp(std::max(band->first, band->second), area.left(), area.right());
    painter->setPen(QPen(colors.highlight, 1));
    painter->setBrush(fill);
    painter->drawRect(QRectF(left, area.top(), right - left, area.height() - 1));
  }
  if (!cursor) return;
  QCPAxis* x = m_area->axis(QCPAxis::atBottom);
  QCPAxis* y = m_area->axis(QCPAxis::atLeft);
  if (x->range().contains(*cursor)) {
    const double pixel = std::round(x->coordToPixel(*cursor));
    painter->setPen(QPen(colors.dim, 1));
    painter->drawLine(QPointF(pixel, area.top()), QPointF(pixel, area.bottom() - 1));
  }
  painter->setAntialiasing(true);
  for (const Dot& dot : dots) {
    if (!std::isfinite(dot.y) || !x->range().contains(dot.x) || !y->range().contains(dot.y)) continue;
    painter->setPen(QPen(colors.background, 1.5));
    painter->setBrush(dot.color);
    painter->drawEllipse(QPointF(x->coordToPixel(dot.x), y->coordToPixel(dot.y)), 4, 4);
  }
}

} // namespace millrace::ui
