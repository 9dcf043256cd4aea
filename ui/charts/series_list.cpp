#include "charts/series_list.h"

#include <QCoreApplication>
#include <QStringList>
#include <algorithm>

namespace millrace::ui {

namespace {

/// Of smoothing between two frames: some milliseconds.
constexpr std::int64_t rowsPerSlice = 1 << 18;
/// Points of all series of a chart that may be drawn smooth: a few milliseconds as well.
constexpr int smoothPoints = 4000;

} // namespace

Series SeriesList::Shown::rawSeries(XAxisKind kind) const {
  const MetricTable& table = *spec.table;
  return {table.x(kind), table.column(spec.column), &table.pyramid(spec.column), table.rows()};
}

Series SeriesList::Shown::averageSeries(XAxisKind kind) const {
  const MetricTable& table = *spec.table;
  if (!smoothed) return {table.x(kind), table.column(spec.column), nullptr, 0};
  return {table.x(kind), smoothed->values(), &smoothed->pyramid(), std::min(smoothed->rows(), table.rows())};
}

void SeriesList::add(ChartSeries series) {
  if (series.color < 0) series.color = count();
  m_series.push_back(std::make_unique<Shown>());
  Shown* const shown = m_series.back().get();
  shown->spec = std::move(series);
  const auto plottable = [&](Series (Shown::*of)(XAxisKind) const) {
    return new SeriesPlottable(m_plot.xAxis, m_plot.yAxis, [this, shown, of] { return (shown->*of)(m_kind); });
  };
  shown->raw = plottable(&Shown::rawSeries);
  shown->average = plottable(&Shown::averageSeries);
  shown->average->setLayer(ChartPlot::averagesLayer());
  if (shown->spec.style == ChartSeries::Style::Points) shown->raw->setLayer(ChartPlot::averagesLayer());
  smooth(*shown);
  updateLooks();
}

void SeriesList::clear() {
  for (const auto& shown : m_series) {
    m_plot.removePlottable(shown->raw);
    m_plot.removePlottable(shown->average);
  }
  m_series.clear();
  updateLooks();
}

void SeriesList::setSmoothing(double weight) {
  m_smoothing = weight;
  for (const auto& shown : m_series) smooth(*shown);
  updateLooks();
}

void SeriesList::smooth(Shown& shown) const {
  if (m_smoothing == 0 || shown.spec.style != ChartSeries::Style::Line)
    shown.smoothed.reset();
  else if (shown.smoothed)
    shown.smoothed->setWeight(m_smoothing);
  else
    shown.smoothed.emplace(shown.spec.table, shown.spec.column, m_smoothing);
}

bool SeriesList::recomputeSome() {
  std::int64_t left = rowsPerSlice;
  bool complete = true;
  for (const auto& shown : m_series)
    if (shown->smoothed) complete = shown->smoothed->recomputeSome(left) && complete;
  return complete;
}

std::optional<Range> SeriesList::xExtent() const {
  std::optional<Range> extent;
  for (const auto& shown : m_series) {
    const MetricTable& table = *shown->spec.table;
    if (table.rows() == 0) continue;
    const XValues x = table.x(m_kind);
    extent = united(extent, Range{x[0], x[table.rows() - 1]});
  }
  return extent;
}

Extent SeriesList::yExtent(Range x) const {
  Extent extent;
  const auto include = [&](const Series& series) {
    if (series.rows == 0) return;
    const Extent part = extentOf(series, x.lower, x.upper);
    extent.min = std::min(extent.min, part.min);
    extent.max = std::max(extent.max, part.max);
    extent.minPositive = std::min(extent.minPositive, part.minPositive);
  };
  for (const auto& shown : m_series) {
    include(shown->rawSeries(m_kind));
    include(shown->averageSeries(m_kind));
  }
  return extent;
}

std::optional<Range> SeriesList::sameRows(Range x, XAxisKind other) const {
  for (const auto& shown : m_series) {
    const MetricTable& table = *shown->spec.table;
    if (table.rows() == 0) continue;
    const XValues values = table.x(other);
    return Range{values[table.nearestRow(m_kind, x.lower)], values[table.nearestRow(m_kind, x.upper)]};
  }
  return std::nullopt;
}

std::optional<double> SeriesList::xBeside(double x, std::int64_t rows) const {
  const MetricTable* most = nullptr;
  for (const auto& shown : m_series)
    if (!most || shown->spec.table->rows() > most->rows()) most = shown->spec.table.get();
  if (!most || most->rows() == 0) return std::nullopt;
  const std::int64_t row = most->nearestRow(m_kind, x);
  return most->x(m_kind)[std::clamp<std::int64_t>(row + rows, 0, most->rows() - 1)];
}

void SeriesList::updateLooks() {
  const ChartColors& colors = m_plot.colors();
  QList<LegendStrip::Entry>& entries = m_plot.legendStrip().entries;
  entries.clear();
  for (const auto& shown : m_series) {
    const ChartSeries& spec = shown->spec;
    SeriesLook look;
    look.color = look.markColor = colors.series(spec.color);
    look.dashes = seriesDashes(spec.color);
    look.row = static_cast<int>(entries.size());
    look.marksNan = spec.marksNan;
    look.mostSmooth = smoothPoints / count();
    look.hasPoints = spec.style == ChartSeries::Style::Points;
    SeriesLook average = look;
    average.width = 2;
    average.marksInfinite = average.marksNan = false; // the raw values' business
    shown->average->setLook(average);
    shown->average->setVisible(shown->smoothed.has_value());
    if (spec.style == ChartSeries::Style::Faint || shown->smoothed) {
      look.color = colors.faint(look.color);
      look.dashes.clear();
      look.width = 1;
    }
    shown->raw->setLook(look);
    entries.push_back({spec.name, shown->smoothed ? average : look, {}, look.hasPoints});
  }
}

void SeriesList::showReadings(std::optional<double> x, AxisNumbers numbers) {
  ChartOverlay& overlay = m_plot.overlay();
  LegendStrip& legend = m_plot.legendStrip();
  overlay.cursor = x;
  overlay.dots.clear();
  legend.position.clear();
  for (qsizetype i = 0; i < legend.entries.size(); ++i) {
    const Shown& shown = *m_series[static_cast<std::size_t>(i)];
    const MetricTable& table = *shown.spec.table;
    const std::int64_t row = x ? table.nearestRow(m_kind, *x) : -1;
    legend.entries[i].value.clear();
    if (row < 0) continue;
    const double at = table.x(m_kind)[row], value = table.value(shown.spec.column, row);
    if (legend.position.isEmpty()) legend.position = positionText(m_kind, at);
    legend.entries[i].value = readingAt(shown, row, legend.position, numbers);
    overlay.dots.push_back({at, value, m_plot.colors().series(shown.spec.color)});
  }
}

QString SeriesList::readingAt(const Shown& shown, std::int64_t row, const QString& position,
                              AxisNumbers numbers) const {
  const QString value = readingText(shown.spec.table->value(shown.spec.column, row), numbers);
  // The nearest of few rows may be far from the cursor.
  const QString own = positionText(m_kind, shown.spec.table->x(m_kind)[row]);
  if (shown.spec.style != ChartSeries::Style::Points || own == position) return value;
  return QCoreApplication::translate("Charts", "%1 at %2").arg(value, own);
}

QString SeriesList::readingsText(double x, AxisNumbers numbers) const {
  QStringList parts;
  for (const auto& shown : m_series) {
    const MetricTable& table = *shown->spec.table;
    const std::int64_t row = table.nearestRow(m_kind, x);
    if (row < 0) continue;
    if (parts.isEmpty()) parts.push_back(positionText(m_kind, table.x(m_kind)[row]));
    parts.push_back(shown->spec.name + u' ' + readingAt(*shown, row, parts.front(), numbers));
  }
  return parts.join(QStringLiteral(" - "));
}

} // namespace millrace::ui
