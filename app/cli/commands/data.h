// millrace data.
#pragma once

#include "command.h"

namespace millrace::cli {

void addData(CLI::App& app, Program& program);

} // namespace millrace::cli
