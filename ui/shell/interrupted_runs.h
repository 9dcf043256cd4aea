// The runs of this user's folder that stand still before their end.
#pragma once

#include <QString>
#include <vector>

namespace millrace::ui {

/// A run that could be gone on with.
struct InterruptedRun {
  QString name;
  QString directory;
  QString reason;
  qint64 step = 0;
  double changed = 0; ///< seconds since 1970
};

/// The newest few. Reads files: not on the GUI thread.
std::vector<InterruptedRun> interruptedRuns();

} // namespace millrace::ui
