// millrace plan: whether a project fits, and what it takes.
#pragma once

#include "command.h"

namespace millrace::cli {

void addPlan(CLI::App& app, Program& program);

} // namespace millrace::cli
