// The series of a chart with their averages and what draws them. Owned by its chart; GUI thread.
#pragma once

#include "charts/chart_plot.h"
#include "charts/chart_series.h"
#include "charts/smoothed_column.h"

#include <optional>
#include <vector>

namespace millrace::ui {

class SeriesList {
 public:
  /// plot: outlives it.
  explicit SeriesList(ChartPlot& plot) : m_plot(plot) {}

  void add(ChartSeries series);
  void clear();
  int count() const { return static_cast<int>(m_series.size()); }
  const ChartSeries& operator[](int index) const { return m_series[static_cast<std::size_t>(index)]->spec; }

  void setXAxisKind(XAxisKind kind) { m_kind = kind; }
  /// Weight of what came before; 0: no averages.
  void setSmoothing(double weight);
  /// Goes on with the averages for some milliseconds; true once they are complete.
  bool recomputeSome();

  /// First and last x of all; nothing if there are no rows.
  std::optional<Range> xExtent() const;
  /// Of all values with x in the range.
  Extent yExtent(Range x) const;
  /// The range of another kind of x in which the same rows are, as the first series with rows has them.
  std::optional<Range> sameRows(Range x, XAxisKind other) const;

  /// x of the row that is so many rows after the one nearest to x (before it: negative), of the series with the most
  /// rows; the first or the last where there are no more.
  std::optional<double> xBeside(double x, std::int64_t rows) const;

  /// Gives all series and the legend their colours.
  void updateLooks();
  /// Puts the values at the rows nearest to x into legend and overlay; nothing: takes them away.
  void showReadings(std::optional<double> x, AxisNumbers numbers);
  /// "step 1,234 - train 2.345 - validation 2.41 at step 1,200"
  QString readingsText(double x, AxisNumbers numbers) const;

 private:
  struct Shown {
    ChartSeries spec;
    SeriesPlottable* raw = nullptr; ///< the plot's, as is the next
    SeriesPlottable* average = nullptr;
    std::optional<SmoothedColumn> smoothed;

    Series rawSeries(XAxisKind kind) const;
    Series averageSeries(XAxisKind kind) const;
  };
  void smooth(Shown& shown) const;
  /// The value at the row, with where that is if it is not at `position`.
  QString readingAt(const Shown& shown, std::int64_t row, const QString& position, AxisNumbers numbers) const;

  ChartPlot& m_plot;
  std::vector<std::unique_ptr<Shown>> m_series;
  XAxisKind m_kind = XAxisKind::Step;
  double m_smoothing = 0;
};

} // namespace millrace::ui
