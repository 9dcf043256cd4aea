// From a project and a machine to a memory plan: the one place where the limits and the shape of a run are decided, for
// running and for planning alike. Pure.
#pragma once

#include "engine/hardware.h"
#include "engine/project.h"
#include "plan/planner.h"

namespace millrace {

struct MemoryLimits {
  Bytes device = 0;
  Bytes host = 0;
};

/// What the project sets, else what the machine has now. The CPU has no memory of its own: its device memory is a part
/// of RAM, and half of what is usable when the project does not say. Host memory: what is usable less 8 GiB or 10% (the
/// larger) for everything else on the machine, but never less than half; less the device's part.
MemoryLimits memoryLimits(const Project& project, const HardwareProfile& profile);

PlanRequest planRequest(const Project& project, const MemoryLimits& limits);

} // namespace millrace
