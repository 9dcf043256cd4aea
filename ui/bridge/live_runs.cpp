#include "bridge/live_runs.h"

#include "bridge/text.h"
#include "engine/runs.h"

namespace millrace::ui {

std::vector<LiveRun> liveRuns() {
  std::vector<LiveRun> live;
  const auto folder = runsFolder();
  if (!folder) return live;
  LocalFileSystem files;
  const auto runs = runsIn(files, *folder);
  if (!runs) return live;
  for (const RunInfo& run : *runs)
    if (run.outcome == RunOutcome::Live)
      live.push_back({toQt(run.path.filename()), toQt(run.path), run.last && run.last->gpu.has_value()});
  return live;
}

} // namespace millrace::ui
