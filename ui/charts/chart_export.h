// Charts and their numbers as files, written aside and renamed: a file is there whole or not at all. Errors name the
// file. GUI thread; a million rows of 24 columns take some seconds.
#pragma once

#include "charts/live_chart.h"

namespace millrace::ui {

/// In the colours of the screen, or those of print; scale: pixels of the file for one of `size`.
Result<void> exportPng(LiveChart& chart, const QString& path, QSize size, double scale = 2, bool printColors = false);
/// In the colours of print.
Result<void> exportSvg(LiveChart& chart, const QString& path, QSize size);

/// All columns of the rows [begin, end): a line of names, then a line a row; numbers as short as they can be and still
/// read back to the same bits, "nan", "inf", "-inf".
Result<void> exportCsv(const MetricTable& table, const QString& path, std::int64_t begin, std::int64_t end);
/// The chart's series one after the other: name, step, tokens, time and value of every row, or of those in view.
Result<void> exportCsv(const LiveChart& chart, const QString& path, bool onlyInView);

} // namespace millrace::ui
