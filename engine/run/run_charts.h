// The charts of a run, drawn from its metrics and events into charts/*.svg.
#pragma once

#include "run/run_directory.h"

namespace millrace {

/// loss.svg (raw, smoothed, validation), learning-rate.svg, gradient-norm.svg, throughput.svg; each written atomically.
/// Reads every step once; a run without steps gets none.
Status writeCharts(FileSystem& files, const RunDirectory& run);

} // namespace millrace
