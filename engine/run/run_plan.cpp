#include "run/run_plan.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

/// A limit that the project sets holds, though never more than there is.
MemoryLimit asSet(Bytes bytes, Bytes free, const char* key) {
  if (bytes <= free || free <= 0) return {bytes, free, key, true};
  return {free, free, fmt::format("{} is {}, but only {} are free", key, formatBytes(bytes), formatBytes(free)), true};
}

MemoryLimits limitsOnCpu(const Project& project, const TierBudget& ram) {
  const MemoryConfig& memory = project.memory;
  const auto derived = [&](Bytes bytes, const char* part, const char* key) {
    return MemoryLimit{std::max<Bytes>(0, bytes), ram.free,
                       fmt::format("{}: {}; {} is not set", part, ram.explanation, key), ram.overridden};
  };
  MemoryLimits limits;
  limits.device = memory.vramLimit > 0 ? asSet(memory.vramLimit, ram.free, "memory.vram_limit")
                                       : derived(ram.bytes / 2, "half of what may be taken", "memory.vram_limit");
  limits.host = memory.ramLimit > 0
                    ? asSet(memory.ramLimit, ram.free, "memory.ram_limit")
                    : derived(ram.bytes - limits.device.bytes, "the rest of what may be taken", "memory.ram_limit");
  return limits;
}

MemoryLimits limitsOnGpu(const Project& project, const TierBudgets& budgets, std::size_t gpu) {
  const MemoryConfig& memory = project.memory;
  const TierBudget& vram = budgets.vram[gpu];
  const TierBudget& ram = budgets.ram;
  const auto derived = [](const TierBudget& budget) {
    return MemoryLimit{budget.bytes, budget.free, budget.explanation, budget.overridden};
  };
  MemoryLimits limits;
  limits.device = memory.vramLimit > 0 ? asSet(memory.vramLimit, vram.free, "memory.vram_limit") : derived(vram);
  limits.host = memory.ramLimit > 0 ? asSet(memory.ramLimit, ram.free, "memory.ram_limit") : derived(ram);
  return limits;
}

/// Each file system counts once, however many of its folders are named. State is dealt out to the folders in equal
/// parts, so that the one with the least room decides for all.
MemoryLimit diskLimit(const HardwareProfile& profile, const TierBudgets& budgets, const TierOverrides& overrides) {
  MemoryLimit limit;
  const auto folders = static_cast<Bytes>(budgets.disks.size());
  for (std::size_t i = 0; i < budgets.disks.size(); ++i) {
    const auto first = static_cast<int>(i);
    if (budgets.sameDisk[i] != first) continue;
    const TierBudget& budget = budgets.disks[i];
    const Bytes mayTake = budget.overridden ? std::min(budget.bytes, budget.free) : budget.bytes; // never more than is
    const auto sharing = static_cast<Bytes>(std::count(budgets.sameDisk.begin(), budgets.sameDisk.end(), first));
    const Bytes forAll = sharing == folders ? mayTake : mayTake / sharing * folders;
    limit.bytes = limit.origin.empty() ? forAll : std::min(limit.bytes, forAll);
    limit.free += budget.free;
    limit.set = limit.set || budget.overridden;
    limit.origin +=
        fmt::format("{}{}: {}", limit.origin.empty() ? "" : "; ", profile.disks[i].folder, budget.explanation);
  }
  if (!budgets.disks.empty() || !overrides.disk) return limit;
  return {*overrides.disk, *overrides.disk, fmt::format("{} as set", formatBytes(*overrides.disk)), true};
}

} // namespace

MemoryLimits memoryLimits(const Project& project, const HardwareProfile& profile, const PlanTarget& target) {
  const TierBudgets budgets = tierBudgets(profile, target.budgets);
  MemoryLimits limits = target.gpu < 0 ? limitsOnCpu(project, budgets.ram)
                                       : limitsOnGpu(project, budgets, static_cast<std::size_t>(target.gpu));
  if (target.nvme) limits.disk = diskLimit(profile, budgets, target.budgets);
  return limits;
}

MemoryLimit besideCheckpoints(MemoryLimit disk, Bytes checkpoints) {
  disk.bytes = std::max<Bytes>(0, disk.bytes - checkpoints);
  disk.origin += fmt::format(", less {} for checkpoints", formatBytes(checkpoints));
  return disk;
}

std::int64_t computeThreads(const Project& project, const HardwareProfile& profile) {
  return project.training.threads > 0 ? project.training.threads : std::max(1, profile.cpu.usableCores);
}

PlanRequest planRequest(const Project& project, const MemoryLimits& limits, const HardwareProfile& profile,
                        const PlanTarget& target) {
  const TrainingConfig& training = project.training;
  PlanRequest request;
  request.shape.rows = training.microBatch;
  request.shape.context = training.context;
  request.shape.microBatches = training.microBatches;
  request.shape.precision = training.precision;
  request.shape.clip = training.clip;
  request.shape.headChunk = std::min(training.headChunk, training.microBatch * training.context);
  request.shape.slots = static_cast<int>(training.slots);
  if (training.scheduleGroup > 0) request.group = training.scheduleGroup;
  switch (training.recompute) {
  case RecomputePolicy::Auto:
    break;
  case RecomputePolicy::Full:
    request.recompute = Recompute::Full;
    break;
  case RecomputePolicy::Selective:
    request.recompute = Recompute::Selective;
    break;
  case RecomputePolicy::None:
    request.recompute = Recompute::None;
    break;
  }
  if (training.offloadActivations != Switch::Auto)
    request.offloadActivations = training.offloadActivations == Switch::On;
  switch (project.memory.placement) {
  case PlacementChoice::Auto:
    request.placement = PlacementPolicy::Auto;
    break;
  case PlacementChoice::Ram:
    request.placement = PlacementPolicy::Host;
    break;
  case PlacementChoice::Weights:
    request.placement = PlacementPolicy::Weights;
    break;
  case PlacementChoice::Vram:
    request.placement = PlacementPolicy::Device;
    break;
  }
  request.deviceLimit = limits.device.bytes;
  request.hostLimit = limits.host.bytes;
  request.diskLimit = limits.disk.bytes;
  request.shape.devices = target.gpus;
  request.shape.microBatches = (request.shape.microBatches + target.gpus - 1) / target.gpus;
  const auto threads = static_cast<int>(computeThreads(project, profile));
  request.rates = stepRates(profile, training.precision, target.gpu, threads, target.gpus);
  request.splitUpdates = target.gpu >= 0 && target.gpus == 1;
  return request;
}

namespace {

/// Where nobody said how to share the CPU's memory, other shares than half are tried before it is too small.
/// planned: planStep() or leastMemory().
template <class Planned>
auto overShares(PlanRequest request, const MemoryLimits& limits, const Planned& planned) {
  auto found = planned(request);
  if (!request.rates || !request.rates->sharedCores || limits.device.set || limits.host.set) return found;
  const Bytes both = request.deviceLimit + request.hostLimit;
  for (const int eighths : {2, 6, 1, 7}) {
    if (found || found.error().kind != ErrorKind::DoesNotFit) break;
    request.deviceLimit = both / 8 * eighths;
    request.hostLimit = both - request.deviceLimit;
    if (auto other = planned(request)) found = std::move(other);
  }
  return found;
}

/// Limits that are derived share what is free; set ones may each be right and together too much.
bool mayExceedWhatIsFree(const PlanRequest& request, const MemoryLimits& limits) {
  return request.rates && request.rates->sharedCores && request.deviceLimit + request.hostLimit > limits.host.free;
}

} // namespace

Result<PlannedStep> planRun(const ModelSpec& spec, const PlanRequest& request, const MemoryLimits& limits) {
  MILLRACE_TRY(PlannedStep step,
               overShares(request, limits, [&](const PlanRequest& shared) { return planStep(spec, shared); }));
  const Bytes device = step.memory.total(MemoryTier::Device);
  const Bytes host = step.memory.total(MemoryTier::Host);
  if (mayExceedWhatIsFree(request, limits) && device + host > limits.host.free)
    return failure(ErrorKind::DoesNotFit,
                   fmt::format("the machine's memory is too small: {} on the device, which is the CPU's share of it, "
                               "and {} beside it are {}, and {} are free; lower memory.vram_limit or "
                               "memory.ram_limit, or close other programs",
                               formatBytes(device), formatBytes(host), formatBytes(device + host),
                               formatBytes(limits.host.free)));
  return step;
}

Result<TierTotals> leastMemoryOfRun(const ModelSpec& spec, const PlanRequest& request, const MemoryLimits& limits) {
  if (mayExceedWhatIsFree(request, limits)) { // what planRun() takes depends on what it finds best
    MILLRACE_TRY(const PlannedStep step, planRun(spec, request, limits));
    return step.memory.totals();
  }
  return overShares(request, limits, [&](const PlanRequest& shared) { return leastMemory(spec, shared); });
}

std::string whatNeedsLess(const ModelSpec& spec, const PlanRequest& request) {
  const MemoryTier tier = smallestPlan(spec, request).total(MemoryTier::Device) > request.deviceLimit
                              ? MemoryTier::Device
                              : MemoryTier::Host;
  const auto need = [&](const PlanRequest& changed) {
    return (tier == MemoryTier::Device ? smallestPlan(spec, changed) : leanestPlan(spec, changed)).total(tier);
  };
  const Bytes now = need(request);
  std::vector<std::pair<Bytes, std::string>> less;
  const auto offer = [&](std::string setting, const auto& change) {
    PlanRequest changed = request;
    change(changed.shape);
    changed.shape.headChunk = std::min(changed.shape.headChunk, changed.shape.rows * changed.shape.context);
    if (const Bytes least = need(changed); least < now) less.emplace_back(least, std::move(setting));
  };
  const RunShape& shape = request.shape;
  if (shape.clip == ClipMode::Exact)
    offer("training.clip exact-bf16", [](RunShape& changed) { changed.clip = ClipMode::ExactBf16; });
  if (shape.clip != ClipMode::Off) offer("training.clip off", [](RunShape& changed) { changed.clip = ClipMode::Off; });
  const auto half = [&](std::string_view key, std::int64_t RunShape::*size) {
    if (shape.*size > 1)
      offer(fmt::format("{} {}", key, shape.*size / 2), [size](RunShape& changed) { changed.*size /= 2; });
  };
  half("training.micro_batches", &RunShape::microBatches);
  half("training.micro_batch", &RunShape::rows);
  half("training.context", &RunShape::context);
  std::sort(less.begin(), less.end());
  std::string clause;
  for (const auto& [bytes, setting] : less)
    clause += fmt::format("{}{} with {}", clause.empty() ? "the least would be " : ", ", formatBytes(bytes), setting);
  return clause;
}

} // namespace millrace
