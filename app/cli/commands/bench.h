// millrace bench: how fast this machine is, and how near the engine comes to it.
#pragma once

#include "command.h"

namespace millrace::cli {

void addBench(CLI::App& app, Program& program);

} // namespace millrace::cli
