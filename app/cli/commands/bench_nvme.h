// `millrace bench nvme`: state on disk, read, updated and written back.
#pragma once

#include "command.h"

namespace millrace::cli {

void addBenchNvme(CLI::App& group, Program& program);

} // namespace millrace::cli
