// millrace export: a trained model as a Hugging Face folder.
#pragma once

#include "command.h"

namespace millrace::cli {

void addExport(CLI::App& app, Program& program);

} // namespace millrace::cli
