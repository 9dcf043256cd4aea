// millrace import: a model folder, looked at before it is trained from.
#pragma once

#include "command.h"

namespace millrace::cli {

void addImport(CLI::App& app, Program& program);

} // namespace millrace::cli
