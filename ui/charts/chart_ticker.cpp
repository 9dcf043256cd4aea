#include "charts/chart_ticker.h"

#include <algorithm>

namespace millrace::ui {

void ChartTicker::setRoom(double pixels, const QFont& font) {
  m_pixels = pixels;
  m_metrics = QFontMetricsF(font);
}

void ChartTicker::generate(const QCPRange& range, const QLocale&, QChar, int, QVector<double>& ticks,
                           QVector<double>* subTicks, QVector<QString>* tickLabels) {
  const Range shown{range.lower, range.upper};
  const double least = m_orientation == Qt::Horizontal ? m_metrics.averageCharWidth() * 8 : m_metrics.height() * 1.9;
  int count = std::clamp(static_cast<int>(m_pixels / std::max(1.0, least)), 2, 12);
  AxisTicks result = axisTicks(shown, m_numbers, m_logarithmic, count);
  while (count > 1 && !fits(result, shown)) result = axisTicks(shown, m_numbers, m_logarithmic, --count);
  ticks = result.ticks;
  if (subTicks) *subTicks = result.subTicks;
  if (tickLabels) *tickLabels = result.labels;
}

bool ChartTicker::fits(const AxisTicks& ticks, Range range) const {
  if (m_orientation == Qt::Vertical) return true;
  const double gap = m_metrics.averageCharWidth() * 2;
  for (qsizetype i = 1; i < ticks.ticks.size(); ++i) {
    const double apart = (ticks.ticks[i] - ticks.ticks[i - 1]) / range.size() * m_pixels;
    const double widths =
        m_metrics.horizontalAdvance(ticks.labels[i]) + m_metrics.horizontalAdvance(ticks.labels[i - 1]);
    if (widths / 2 + gap > apart) return false;
  }
  return true;
}

} // namespace millrace::ui
