#include "engine/plan.h"

#include "project/project_model.h"
#include "run/run_plan.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

PlannedTier describeTier(const MemoryPlan& plan, MemoryTier tier, const std::string& limitOrigin) {
  PlannedTier described;
  described.name = toString(tier);
  described.needed = plan.total(tier);
  described.limit = plan.limit(tier);
  described.limitOrigin = limitOrigin;
  for (const Allocation& allocation : plan.allocations) {
    if (allocation.tier != tier) continue;
    const std::string_view name = toString(allocation.category);
    const auto known = std::find_if(described.categories.begin(), described.categories.end(),
                                    [&](const PlannedCategory& category) { return category.name == name; });
    if (known != described.categories.end())
      known->bytes += allocation.bytes;
    else
      described.categories.push_back({std::string(name), allocation.bytes});
  }
  return described;
}

std::string originOf(Bytes asked, const char* key, const HardwareProfile& profile) {
  if (asked > 0) return key;
  return fmt::format("{} is not set; {} of memory are free now", key, formatBytes(profile.memory.usable));
}

} // namespace

Result<PlanReport> planProject(FileSystem& files, const Project& project, const std::string& source,
                               const HardwareProfile& profile) {
  MILLRACE_TRY(const ModelSpec spec, readProjectModel(files, project, source));
  MILLRACE_CHECK(checkDevice(project.training.device, source + ": training.device"));
  const MemoryLimits limits = memoryLimits(project, profile);
  const PlanRequest request = planRequest(project, limits);
  PlanReport report;
  Result<MemoryPlan> found = planMemory(spec, request);
  if (!found) {
    if (found.error().kind != ErrorKind::DoesNotFit) return tl::unexpected(found.error());
    report.shortfall = found.error().message;
    found = smallestPlan(spec, request);
    found->deviceLimit = limits.device;
    found->hostLimit = limits.host;
  }
  const MemoryPlan& plan = *found;
  report.project = project.name;
  report.fits = report.shortfall.empty();
  for (const BlockSpec& block : blocksOf(spec))
    for (const ParameterSpec& parameter : block.parameters) report.parameters += parameter.elements();
  report.layers = static_cast<std::int64_t>(spec.layers.size());
  report.tokensPerStep = project.training.tokensPerStep();
  report.microBatches = plan.shape.microBatches;
  report.precision = plan.shape.precision;
  report.clip = plan.shape.clip;
  report.recompute = toString(plan.shape.recompute);
  report.group = plan.shape.group;
  report.slots = plan.shape.slots;
  report.offloadActivations = plan.shape.offloadActivations;
  for (const UnitHome home : plan.homes)
    ++(home == UnitHome::Host              ? report.streamedUnits
       : home == UnitHome::WeightsOnDevice ? report.weightsOnDeviceUnits
                                           : report.onDeviceUnits);
  report.tiers = {
      describeTier(plan, MemoryTier::Device, originOf(project.memory.vramLimit, "memory.vram_limit", profile)),
      describeTier(plan, MemoryTier::Host, originOf(project.memory.ramLimit, "memory.ram_limit", profile))};
  return report;
}

} // namespace millrace
