// millrace check: the engine against reference cases, and checkpoints against their checksums.
#pragma once

#include "command.h"

namespace millrace::cli {

void addCheck(CLI::App& app, Program& program);

} // namespace millrace::cli
