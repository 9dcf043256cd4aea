// What a chart is told about one of its series. Plain values.
#pragma once

#include "charts/metric_table.h"

#include <memory>

namespace millrace::ui {

struct ChartSeries {
  enum class Style {
    Line,   ///< drawn faintly behind its average when there is smoothing
    Faint,  ///< raw values that are not the point
    Points, ///< few rows, such as evaluations; never smoothed
  };

  std::shared_ptr<MetricTable> table; ///< kept alive
  int column = 0;
  QString name; ///< of the metric, or of the run where runs are compared
  Style style = Style::Line;
  int color = -1;       ///< index among the series' colours; -1: the next
  bool marksNan = true; ///< false: NaN means not known, and is not marked at the edge
};

} // namespace millrace::ui
