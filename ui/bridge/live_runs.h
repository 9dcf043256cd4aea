// Runs that train on this machine now, in whatever program.
#pragma once

#include <QString>
#include <functional>
#include <vector>

namespace millrace::ui {

struct LiveRun {
  QString name;
  QString place;
  bool onGpu = false; ///< a GPU's driver tells of it; else the CPU computes, or nothing is known yet
  bool operator==(const LiveRun&) const = default;
};

/// Those in the folder where runs go. Reads files: any thread but the GUI's.
std::vector<LiveRun> liveRuns();

using LiveRunsFunction = std::function<std::vector<LiveRun>()>;

} // namespace millrace::ui
