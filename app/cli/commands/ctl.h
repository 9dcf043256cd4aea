// millrace ctl: asks and steers a run of another process.
#pragma once

#include "command.h"

namespace millrace::cli {

void addCtl(CLI::App& app, Program& program);

} // namespace millrace::cli
