// Looking for runs on the disk: any thread but the GUI's.
#pragma once

#include "runs/run_entry.h"

#include <vector>

namespace millrace::ui {

/// The runs directly inside the folders, and those that are known, wherever they are. What is known of a run is kept
/// where its files have not changed, and where they are gone: it is then no longer present. In no order.
std::vector<RunEntry> scanRuns(const QStringList& folders, const std::vector<RunEntry>& known);

/// One run anew, whatever is known of it.
RunEntry lookAtRun(const QString& path, const RunEntry& known = {});

} // namespace millrace::ui
