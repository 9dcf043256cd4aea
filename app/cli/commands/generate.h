// millrace generate: continues a prompt with a trained model.
#pragma once

#include "command.h"

namespace millrace::cli {

void addGenerate(CLI::App& app, Program& program);

} // namespace millrace::cli
