// Ticks of a chart's axis for QCustomPlot: as many as there is room for. Belongs to its axis; GUI thread.
#pragma once

#include "charts/axis_ticks.h"
#include "charts/plot_library.h"

#include <QFontMetricsF>

namespace millrace::ui {

class ChartTicker final : public QCPAxisTicker {
 public:
  explicit ChartTicker(Qt::Orientation orientation) : m_orientation(orientation) {}

  void setNumbers(AxisNumbers numbers) { m_numbers = numbers; }
  void setLogarithmic(bool logarithmic) { m_logarithmic = logarithmic; }
  /// The axis is this long in pixels and written in this font.
  void setRoom(double pixels, const QFont& font);

  void generate(const QCPRange& range, const QLocale& locale, QChar formatChar, int precision, QVector<double>& ticks,
                QVector<double>* subTicks, QVector<QString>* tickLabels) override;

 private:
  bool fits(const AxisTicks& ticks, Range range) const;

  const Qt::Orientation m_orientation;
  AxisNumbers m_numbers = AxisNumbers::Plain;
  bool m_logarithmic = false;
  double m_pixels = 400;
  QFontMetricsF m_metrics{QFont()};
};

} // namespace millrace::ui
