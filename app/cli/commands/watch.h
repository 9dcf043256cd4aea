// millrace watch: follows a run, live or finished, of this or another process.
#pragma once

#include "command.h"

namespace millrace::cli {

void addWatch(CLI::App& app, Program& program);

} // namespace millrace::cli
