// millrace hw: what this machine has.
#pragma once

#include "command.h"

namespace millrace::cli {

void addHw(CLI::App& app, Program& program);

} // namespace millrace::cli
