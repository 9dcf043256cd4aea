// `millrace bench step`.
#pragma once

#include "command.h"
#include "engine/bench.h"

namespace millrace::cli {

void addBenchStep(CLI::App& group, Program& program);

/// "AMD EPYC 9654, 16 of 16 cores, AVX-512, 125.00 GiB of memory".
std::string describeMachine(const BenchMachine& machine);

} // namespace millrace::cli
