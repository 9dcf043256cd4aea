#include "shell/interrupted_runs.h"

#include "bridge/text.h"
#include "engine/runs.h"

#include <QDateTime>

namespace millrace::ui {

namespace {

/// Runs older than this are history, not something that was broken off.
constexpr double interruptedShownSeconds = 60.0 * 24 * 3600;
constexpr std::size_t mostInterrupted = 5;

} // namespace

std::vector<InterruptedRun> interruptedRuns() {
  std::vector<InterruptedRun> found;
  LocalFileSystem files;
  const auto folder = runsFolder();
  if (!folder) return found;
  const auto runs = runsIn(files, *folder);
  if (!runs) return found;
  const double now = static_cast<double>(QDateTime::currentSecsSinceEpoch());
  for (const RunInfo& run : *runs) {
    if (run.outcome != RunOutcome::Interrupted || now - run.changed > interruptedShownSeconds) continue;
    found.push_back({toQt(run.name), toQt(run.path), toQt(run.reason), run.last ? run.last->step : 0, run.changed});
    if (found.size() == mostInterrupted) break;
  }
  return found;
}

} // namespace millrace::ui
