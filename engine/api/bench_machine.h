// What figures of benchmarks were measured on.
#pragma once

#include "base/json_reader.h"
#include "engine/bench.h"
#include "engine/hardware.h"

namespace millrace {

BenchMachine benchMachineOf(const HardwareProfile& profile, int threads);
Json toJson(const BenchMachine& machine);

} // namespace millrace
