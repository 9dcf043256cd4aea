// millrace runs: the runs of a folder.
#pragma once

#include "command.h"

namespace millrace::cli {

void addRuns(CLI::App& app, Program& program);

} // namespace millrace::cli
