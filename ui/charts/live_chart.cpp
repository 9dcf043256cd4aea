#include "charts/live_chart.h"

#include "charts/chart_input.h"
#include "charts/chart_plot.h"
#include "charts/series_list.h"

#include <QHelpEvent>
#include <QToolTip>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <cmath>

namespace millrace::ui {

namespace {

double steadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double leastSize(XAxisKind kind, Range extent) {
  const double magnitude = std::max(std::abs(extent.lower), std::abs(extent.upper));
  return std::max(kind == XAxisKind::Time ? 0.02 : 2.0, magnitude * 1e-12);
}

} // namespace

LiveChart::LiveChart(const QString& quantity, const QString& unit, QWidget* parent)
    : QWidget(parent),
      m_quantity(quantity),
      m_unit(unit),
      m_emptyText(tr("No steps yet")),
      m_plot(new ChartPlot(this)),
      m_series(std::make_unique<SeriesList>(*m_plot)),
      m_input(std::make_unique<ChartInput>(*this)),
      m_clock(steadySeconds) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(m_plot);
  m_plot->installEventFilter(this);
  installEventFilter(m_input.get());
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  m_timer.setSingleShot(true);
  m_timer.setTimerType(Qt::PreciseTimer);
  connect(&m_timer, &QTimer::timeout, this, &LiveChart::paintFrame);
  applyFont();
  applyColors(palette());
  applyTexts();
}

LiveChart::~LiveChart() {
  m_plot->removeEventFilter(this);
}

void LiveChart::addSeries(ChartSeries series) {
  connect(series.table.get(), &MetricTable::changed, this, &LiveChart::refresh, Qt::UniqueConnection);
  m_series->add(std::move(series));
  refresh();
}

void LiveChart::clearSeries() {
  for (int index = 0; index < seriesCount(); ++index)
    disconnect(series(index).table.get(), &MetricTable::changed, this, &LiveChart::refresh);
  m_series->clear();
  refresh();
}

int LiveChart::seriesCount() const {
  return m_series->count();
}

const ChartSeries& LiveChart::series(int index) const {
  return (*m_series)[index];
}

void LiveChart::setYNumbers(AxisNumbers numbers) {
  m_yNumbers = numbers;
  refresh();
}

void LiveChart::setYAtLeast(std::optional<Range> range) {
  m_yAtLeast = range;
  refresh();
}

void LiveChart::setEmptyText(const QString& text) {
  m_emptyText = text;
  refresh();
}

void LiveChart::setXAxisKind(XAxisKind kind) {
  if (m_kind == kind) return;
  std::optional<Range> view;
  if (!m_x.isFollowing()) view = m_series->sameRows(m_x.view(), kind);
  m_kind = kind;
  m_series->setXAxisKind(kind);
  m_cursor.reset();
  m_x.fit();
  updateExtent();
  if (view) m_x.show(*view);
  applyTexts();
  refresh();
}

void LiveChart::setLogarithmic(bool logarithmic) {
  if (m_logarithmic == logarithmic) return;
  m_logarithmic = logarithmic;
  m_yFits = true;
  refresh();
  Q_EMIT logarithmicChanged(logarithmic);
}

void LiveChart::setSmoothing(double weight) {
  m_smoothing = std::clamp(weight, 0.0, SmoothedColumn::maxWeight);
  m_series->setSmoothing(m_smoothing);
  refresh();
}

std::optional<Range> LiveChart::xExtent() const {
  return m_series->xExtent();
}

void LiveChart::zoomX(double factor, double at) {
  showX(zoomed(m_x.view(), factor, at));
}

void LiveChart::zoomY(double factor, double at) {
  if (!xExtent() || (m_logarithmic && !(at > 0))) return;
  const Range range = zoomed(m_y, factor, at, m_logarithmic);
  if (!QCPRange::validRange(range.lower, range.upper)) return;
  m_y = range;
  m_yFits = false;
  refresh();
}

void LiveChart::panX(double share) {
  if (m_x.isFollowing()) return; // all of it is in view
  showX(panned(m_x.view(), share));
}

void LiveChart::panY(double share) {
  if (!xExtent()) return;
  m_y = panned(m_y, share, m_logarithmic);
  m_yFits = false;
  refresh();
}

void LiveChart::showX(Range range) {
  updateExtent();
  if (!wholeExtent()) return;
  m_x.show(range);
  refresh();
  Q_EMIT viewChanged();
}

void LiveChart::fit() {
  m_yFits = true;
  m_x.fit();
  refresh();
  Q_EMIT viewChanged();
}

void LiveChart::followViewOf(const LiveChart& other) {
  updateExtent();
  if (other.followsX())
    m_x.fit();
  else
    m_x.show(other.xView());
  refresh();
}

void LiveChart::setExtentSource(std::function<std::optional<Range>()> source) {
  m_extentSource = std::move(source);
  refresh();
}

void LiveChart::setCompanions(int charts) {
  m_pace.setCompanions(charts);
}

void LiveChart::setCursor(std::optional<double> x) {
  if (m_cursor == x) return;
  m_cursor = x;
  schedule(true);
}

void LiveChart::moveCursor(std::int64_t rows) {
  if (!m_cursor) return moveCursorToEdge(true);
  if (const auto x = m_series->xBeside(*m_cursor, rows)) placeCursor(*x);
}

void LiveChart::moveCursorToEdge(bool last) {
  const Range view = m_x.view();
  auto x = m_series->xBeside(last ? view.upper : view.lower, 0);
  // The nearest row may be beyond the edge.
  if (x && (*x > view.upper || *x < view.lower)) x = m_series->xBeside(*x, last ? -1 : 1);
  if (x) placeCursor(*x);
}

void LiveChart::placeCursor(double x) {
  const Range view = m_x.view();
  if (x < view.lower || x > view.upper) {
    const double shift = x < view.lower ? x - view.lower : x - view.upper;
    showX({view.lower + shift, view.upper + shift});
  }
  setCursor(x);
  Q_EMIT cursorMoved(x);
}

void LiveChart::setBand(std::optional<std::pair<double, double>> band) {
  m_plot->overlay().band = band;
  schedule(true);
}

QString LiveChart::readout() const {
  return m_cursor ? m_series->readingsText(*m_cursor, m_yNumbers) : QString();
}

QRect LiveChart::plotArea() const {
  return m_plot->axisRect()->rect();
}

double LiveChart::xAt(double pixel) const {
  return m_plot->xAxis->pixelToCoord(pixel);
}

double LiveChart::yAt(double pixel) const {
  return m_plot->yAxis->pixelToCoord(pixel);
}

double LiveChart::pixelOfX(double x) const {
  return m_plot->xAxis->coordToPixel(x);
}

double LiveChart::pixelOfY(double y) const {
  return m_plot->yAxis->coordToPixel(y);
}

void LiveChart::setClock(std::function<double()> clock) {
  m_clock = std::move(clock);
}

void LiveChart::refresh() {
  schedule(false);
}

void LiveChart::schedule(bool overlayOnly) {
  (overlayOnly ? m_overlayDirty : m_dataDirty) = true;
  if (m_timer.isActive() || !canBeSeen()) return;
  m_timer.start(static_cast<int>(std::ceil(m_pace.delay(m_clock()) * 1000)));
}

/// False as well where a scroll area hides it.
bool LiveChart::canBeSeen() const {
  return isVisible() && !window()->isMinimized() && !m_plot->visibleRegion().isEmpty();
}

void LiveChart::paintFrame() {
  if (!canBeSeen() || !(m_dataDirty || m_overlayDirty)) return;
  const double begin = m_clock();
  const bool dataDirty = m_dataDirty;
  m_dataDirty = m_overlayDirty = false;
  bool complete = true;
  if (dataDirty) {
    complete = m_series->recomputeSome();
    updateRanges(m_plot->size());
  }
  m_series->showReadings(m_cursor, m_yNumbers);
  if (dataDirty)
    m_plot->paintAll();
  else
    m_plot->paintOverlay();
  m_pace.painted(begin, m_clock());
  ++m_frames;
  if (!complete || m_dataDirty) refresh();
}

std::optional<Range> LiveChart::wholeExtent() const {
  return m_extentSource ? m_extentSource() : xExtent();
}

void LiveChart::updateExtent() {
  const std::optional<Range> own = xExtent();
  const std::optional<Range> extent = wholeExtent();
  if (extent) {
    // The last row stands clear of the edge.
    Range range = extent->size() > 0 ? Range{extent->lower, extent->upper + extent->size() * 0.01}
                                     : Range{extent->lower - 0.5, extent->lower + 0.5};
    m_x.setExtent(range, leastSize(m_kind, range));
  } else {
    m_x.setExtent({0, 1}, 0);
  }
  if (own == m_lastExtent) return;
  m_lastExtent = own;
  Q_EMIT extentChanged();
}

void LiveChart::updateRanges(QSize plotSize) {
  updateExtent();
  if (m_yFits) fitY();
  m_plot->setXRange(m_x.view(), numbersOf(m_kind));
  m_plot->setYRange(m_y, m_yNumbers, m_logarithmic);
  m_plot->setTickRoom(plotSize);
  m_plot->setEmptyText(xExtent() ? QString() : m_emptyText);
}

/// What is in view, with some room around it.
void LiveChart::fitY() {
  const Extent extent = m_series->yExtent(m_x.view());
  Range range{m_logarithmic ? extent.minPositive : extent.min, extent.max};
  if (!(range.lower <= range.upper)) range = m_logarithmic ? Range{0.1, 10} : Range{0, 1};
  range = padded(range, 0.05, m_logarithmic);
  if (m_yAtLeast && !(m_logarithmic && m_yAtLeast->lower <= 0)) range = *united(range, m_yAtLeast);
  if (QCPRange::validRange(range.lower, range.upper)) m_y = range;
}

void LiveChart::applyColors(const QPalette& palette) {
  m_plot->setColors(chartColors(palette));
  m_series->updateLooks();
}

void LiveChart::applyFont() {
  QFont small = font();
  if (small.pointSizeF() > 0) small.setPointSizeF(small.pointSizeF() * 0.92);
  m_plot->setTextFont(small);
}

void LiveChart::applyTexts() {
  const auto label = [this] {
    switch (m_kind) {
    case XAxisKind::Step:
      return tr("step");
    case XAxisKind::Tokens:
      return tr("tokens");
    case XAxisKind::Time:
      return tr("elapsed time (h:mm)");
    }
    return QString();
  };
  m_plot->setLabels(label(), m_unit.isEmpty() ? m_quantity : tr("%1 (%2)").arg(m_quantity, m_unit));
  setAccessibleName(tr("Chart of %1 over %2").arg(m_quantity, label()));
  setAccessibleDescription(
      tr("Plus and minus zoom (with Ctrl: the values), arrows move, Home shows all, L switches the "
         "logarithmic axis. Shift and an arrow move the crosshair by a step, with Ctrl by ten, "
         "Shift with Home or End to the edge; Escape takes it away."));
}

bool LiveChart::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  // Names may be shortened in the legend.
  const auto* help = static_cast<QHelpEvent*>(event);
  const QString name = m_plot->legendStrip().nameAt(help->pos());
  QToolTip::showText(help->globalPos(), name.isEmpty() ? accessibleDescription() : name, this);
  return true;
}

void LiveChart::changeEvent(QEvent* event) {
  switch (event->type()) {
  case QEvent::PaletteChange:
  case QEvent::EnabledChange:
    applyColors(palette());
    break;
  case QEvent::FontChange:
    applyFont();
    break;
  case QEvent::LanguageChange:
  case QEvent::LocaleChange:
    applyTexts();
    break;
  default:
    QWidget::changeEvent(event);
    return;
  }
  refresh();
  QWidget::changeEvent(event);
}

void LiveChart::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

void LiveChart::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  refresh();
}

void LiveChart::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  m_plot->overlay().focused = event->reason() != Qt::MouseFocusReason;
  schedule(true);
}

void LiveChart::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  m_plot->overlay().focused = false;
  schedule(true);
}

bool LiveChart::eventFilter(QObject* watched, QEvent* event) {
  // What was not painted while it was scrolled out of sight is due now.
  if (watched == m_plot && event->type() == QEvent::Paint && (m_dataDirty || m_overlayDirty)) schedule(!m_dataDirty);
  return QWidget::eventFilter(watched, event);
}

void LiveChart::paintOn(QPaintDevice& device, QSize size, const QPalette& palette, bool vector) {
  while (!m_series->recomputeSome()) {
  }
  applyColors(palette);
  const bool focused = std::exchange(m_plot->overlay().focused, false);
  const auto band = std::exchange(m_plot->overlay().band, std::nullopt);
  updateRanges(size);
  m_series->showReadings(std::nullopt, m_yNumbers);
  {
    QCPPainter painter(&device);
    painter.setMode(QCPPainter::pmVectorized, vector);
    m_plot->toPainter(&painter, size.width(), size.height());
  }
  m_plot->overlay().focused = focused;
  m_plot->overlay().band = band;
  applyColors(this->palette());
  refresh();
}

} // namespace millrace::ui
