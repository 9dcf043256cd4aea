// millrace train: starts a run of a project, or goes on with one.
#pragma once

#include "command.h"

namespace millrace::cli {

void addTrain(CLI::App& app, Program& program);

} // namespace millrace::cli
