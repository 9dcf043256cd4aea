// millrace resume: goes on with a run that was stopped or killed.
#pragma once

#include "command.h"

namespace millrace::cli {

void addResume(CLI::App& app, Program& program);

} // namespace millrace::cli
