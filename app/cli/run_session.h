// Carrying a run through in the foreground: its events shown, signals passed on, its end told. For train and resume.
#pragma once

#include "command.h"

#include "engine/run.h"

namespace millrace::cli {

struct RunSession {
  std::filesystem::path directory;
  bool json = false;
};

/// open: starts or resumes the run with the given options; called once, after signals are in hand. Gives the exit code.
Result<int> carryThrough(Program& program, const RunSession& session,
                         const std::function<Result<std::unique_ptr<Run>>(const RunOptions&)>& open);

/// Where the run is, its charts, its newest checkpoint, the last sample; for people.
void describeRun(Program& program, const std::filesystem::path& directory, bool withSample);

} // namespace millrace::cli
