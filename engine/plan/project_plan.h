// From what a project asks for to what the planner is asked: one place, so that `plan` and a run never disagree. Pure.
#pragma once

#include "engine/hardware.h"
#include "engine/project.h"
#include "plan/memory_plan.h"

#include <string>

namespace millrace {

/// What a run may take of each tier, and who says so.
struct MemoryLimits {
  Bytes device = 0;
  Bytes host = 0;
  std::string deviceOrigin; ///< "memory.vram_limit", or how the default came about
  std::string hostOrigin;
};

/// The project's limits. Those left 0 come from what is free now: for the device of the CPU backend half of the memory
/// that this process can take, for host memory that memory less 8 GiB or a tenth (whichever is more), but at least half
/// of it.
MemoryLimits memoryLimits(const Project& project, const HardwareProfile& profile);

/// Errors: BadInput for a device that this build does not have, and for shapes whose sizes pass what can be counted.
Result<PlanRequest> planRequest(const Project& project, const ModelSpec& spec, const MemoryLimits& limits);

} // namespace millrace
