// The plot inside a chart: axes, legend strip and overlay, with the chart's colours, font and numbers. It only paints:
// mouse and keys are the chart's. Child of its chart; GUI thread.
#pragma once

#include "charts/axis_ticks.h"
#include "charts/chart_overlay.h"
#include "charts/chart_ticker.h"
#include "charts/legend_strip.h"

namespace millrace::ui {

class ChartPlot final : public QCustomPlot {
  Q_OBJECT

 public:
  explicit ChartPlot(QWidget* parent);

  ChartOverlay& overlay() { return *m_overlay; }
  LegendStrip& legendStrip() { return *m_legend; }
  /// Above the layer of other series.
  static QString averagesLayer() { return QStringLiteral("averages"); }

  const ChartColors& colors() const { return m_colors; }
  void setColors(const ChartColors& colors);
  void setTextFont(const QFont& font);
  void setLabels(const QString& x, const QString& y);
  void setXRange(Range range, AxisNumbers numbers);
  void setYRange(Range range, AxisNumbers numbers, bool logarithmic);
  /// How large it will be painted: ticks are chosen before there is a layout.
  void setTickRoom(QSize size);
  /// Text instead of numbers at the axes; empty for the numbers.
  void setEmptyText(const QString& text);

  /// Paints all at once, on the screen's own pixels.
  void paintAll();
  /// Paints what is over the series only.
  void paintOverlay();

 private:
  ChartOverlay* m_overlay; ///< the plot's, as is the legend
  LegendStrip* m_legend;
  const QSharedPointer<ChartTicker> m_xTicker, m_yTicker;
  ChartColors m_colors;
};

} // namespace millrace::ui
