#include "charts/chart_plot.h"

namespace millrace::ui {

namespace {

/// Room for y's numbers, in widths of a character: the same in all charts, so that they stand in line.
constexpr int yNumberWidth = 7;

} // namespace

ChartPlot::ChartPlot(QWidget* parent)
    : QCustomPlot(parent), m_xTicker(new ChartTicker(Qt::Horizontal)), m_yTicker(new ChartTicker(Qt::Vertical)) {
  setAttribute(Qt::WA_TransparentForMouseEvents);
  setFocusPolicy(Qt::NoFocus);
  setPlottingHints(QCP::phCacheLabels | QCP::phImmediateRefresh);
  setAutoAddPlottableToLegend(false);
  setMinimumSize(0, 0);
  addLayer(averagesLayer(), layer(QStringLiteral("main")));
  plotLayout()->insertRow(0);
  plotLayout()->setRowSpacing(0);
  m_legend = new LegendStrip(this);
  plotLayout()->addElement(0, 0, m_legend);
  m_overlay = new ChartOverlay(axisRect());
  xAxis->setTicker(m_xTicker);
  yAxis->setTicker(m_yTicker);
}

void ChartPlot::setColors(const ChartColors& colors) {
  m_colors = m_overlay->colors = m_legend->colors = colors;
  setBackground(QBrush(colors.background));
  for (QCPAxis* axis : {xAxis, yAxis}) {
    axis->setBasePen(QPen(colors.dim, 1));
    axis->setTickPen(QPen(colors.dim, 1));
    axis->setSubTickPen(QPen(colors.dim, 1));
    axis->setTickLabelColor(colors.text);
    axis->setLabelColor(colors.text);
    axis->grid()->setPen(QPen(colors.grid, 1));
    axis->grid()->setZeroLinePen(QPen(colors.grid, 1));
  }
}

void ChartPlot::setTextFont(const QFont& font) {
  setFont(font);
  for (QCPAxis* axis : {xAxis, yAxis}) {
    axis->setTickLabelFont(font);
    axis->setLabelFont(font);
    axis->setLabelPadding(3);
    axis->setTickLabelPadding(4);
    axis->setNumberFormat(QStringLiteral("g")); // numbers come ready: no powers to typeset
    axis->setTickLength(0, 4);
    axis->setSubTickLength(0, 2);
  }
  const QFontMetrics metrics(font);
  const int character = metrics.averageCharWidth();
  axisRect()->setMinimumMargins(
      {yNumberWidth * character + metrics.height() + 12, 4, 3 * character, 2 * metrics.height() + 12});
}

void ChartPlot::setLabels(const QString& x, const QString& y) {
  xAxis->setLabel(x);
  yAxis->setLabel(y);
}

void ChartPlot::setXRange(Range range, AxisNumbers numbers) {
  xAxis->setRange(range.lower, range.upper);
  m_xTicker->setNumbers(numbers);
}

void ChartPlot::setYRange(Range range, AxisNumbers numbers, bool logarithmic) {
  yAxis->setScaleType(logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
  yAxis->setRange(range.lower, range.upper);
  m_yTicker->setNumbers(numbers);
  m_yTicker->setLogarithmic(logarithmic);
}

void ChartPlot::setTickRoom(QSize size) {
  const QMargins margins = axisRect()->minimumMargins();
  const int width = size.width() - margins.left() - margins.right();
  const int height = size.height() - margins.top() - margins.bottom() - m_legend->heightIn(size);
  m_xTicker->setRoom(width, xAxis->tickLabelFont());
  m_yTicker->setRoom(height, yAxis->tickLabelFont());
}

void ChartPlot::setEmptyText(const QString& text) {
  m_overlay->text = text;
  xAxis->setTickLabels(text.isEmpty());
  yAxis->setTickLabels(text.isEmpty());
}

void ChartPlot::paintAll() {
  if (!qFuzzyCompare(bufferDevicePixelRatio(), devicePixelRatioF())) setBufferDevicePixelRatio(devicePixelRatioF());
  replot(rpImmediateRefresh);
}

void ChartPlot::paintOverlay() {
  m_overlay->layer()->replot();
  repaint();
}

} // namespace millrace::ui
