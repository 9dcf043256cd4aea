// Where an axis has its ticks and what is written there, and numbers as charts write them: 1.2M, 3e-4, 4.5 GiB, 1:30.
// Plain functions of the default locale; any thread.
#pragma once

#include "charts/metric_table.h"
#include "charts/view_range.h"

#include <QList>
#include <QString>

namespace millrace::ui {

enum class AxisNumbers { Plain, Count, Bytes, Elapsed };

struct AxisTicks {
  QList<double> ticks;
  QList<double> subTicks;
  QList<QString> labels; ///< one a tick
};

/// About `count` ticks, at least two where the range allows. A logarithmic axis must be above 0.
AxisTicks axisTicks(Range range, AxisNumbers numbers, bool logarithmic, int count);

AxisNumbers numbersOf(XAxisKind kind);
/// "step 1,234"
QString positionText(XAxisKind kind, double x);
/// Five significant digits: "2.345", "3.2e-4", "1.25M", "NaN".
QString readingText(double value, AxisNumbers numbers);

} // namespace millrace::ui
