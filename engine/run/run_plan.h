// From a project and a machine to a plan: the one place where the limits and the shape of a run are decided, for
// running and for planning alike. Pure.
#pragma once

#include "engine/hardware.h"
#include "engine/project.h"
#include "engine/tier_budgets.h"
#include "plan/planner.h"

#include <string>

namespace millrace {

/// What a run computes on, and what it may use of it.
struct PlanTarget {
  int gpu = -1; ///< index into profile.nvidia.gpus; -1: the CPU
  int gpus = 1;
  bool nvme = false; ///< state may live on disk
  TierOverrides budgets;
};

/// How much of a memory may be taken, and why so much.
struct MemoryLimit {
  Bytes bytes = 0;
  Bytes free = 0; ///< in the machine now
  std::string origin;
  bool set = false; ///< by the project or the user, not derived from what is free
};

struct MemoryLimits {
  MemoryLimit device, host, disk;
};

/// What the project sets, else what the machine has free less a reserve (engine/tier_budgets.h). The CPU has no memory
/// of its own: its device memory is a part of RAM, half of what may be taken when the project does not say.
MemoryLimits memoryLimits(const Project& project, const HardwareProfile& profile, const PlanTarget& target = {});

/// The disk's limit where checkpoints take so much of the same disk.
MemoryLimit besideCheckpoints(MemoryLimit disk, Bytes checkpoints);

/// Of the host that compute.
std::int64_t computeThreads(const Project& project, const HardwareProfile& profile);

/// The rates must be filled in (withAssumedRates, withMeasuredRates).
PlanRequest planRequest(const Project& project, const MemoryLimits& limits, const HardwareProfile& profile,
                        const PlanTarget& target = {});

/// planStep(), and what no tier alone tells: on the CPU both memories are the same RAM, which must have them both now,
/// and which is shared differently if half for each is not enough (the plan's limits then say how).
Result<PlannedStep> planRun(const ModelSpec& spec, const PlanRequest& request, const MemoryLimits& limits);

/// Whether planRun() would find anything, in a fraction of its time: the least that is needed, or planRun()'s error.
Result<TierTotals> leastMemoryOfRun(const ModelSpec& spec, const PlanRequest& request, const MemoryLimits& limits);

/// With which other values of one setting a run that does not fit needs less of the memory that it is short of, and how
/// much that is: a clause for the user. Empty: with none.
std::string whatNeedsLess(const ModelSpec& spec, const PlanRequest& request);

} // namespace millrace
