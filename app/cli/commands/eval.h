// millrace eval: how well a model predicts a text.
#pragma once

#include "command.h"

namespace millrace::cli {

void addEval(CLI::App& app, Program& program);

} // namespace millrace::cli
