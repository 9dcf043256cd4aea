// millrace tokenizer: trains one on files, and turns text into ids and back.
#pragma once

#include "command.h"

namespace millrace::cli {

void addTokenizer(CLI::App& app, Program& program);

} // namespace millrace::cli
