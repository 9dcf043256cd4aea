// Charts as pictures in files, written aside and renamed: a file is there whole or not at all. Errors name the file.
// GUI thread. Their numbers: csv_export.h.
#pragma once

#include "charts/live_chart.h"

namespace millrace::ui {

/// In the colours of the screen, or those of print; scale: pixels of the file for one of `size`.
Result<void> exportPng(LiveChart& chart, const QString& path, QSize size, double scale = 2, bool printColors = false);
/// In the colours of print.
Result<void> exportSvg(LiveChart& chart, const QString& path, QSize size);

} // namespace millrace::ui
