// "millrace runs compare": runs side by side.
#pragma once

#include "command.h"

namespace millrace::cli {

void addCompareRuns(CLI::App& group, Program& program);

} // namespace millrace::cli
