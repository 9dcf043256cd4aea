#include "plan/planner.h"

#include "plan/memory_layout.h"
#include "plan/placement_search.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace millrace {

namespace {

/// An ordinary desktop's CPU: enough to rank settings where nobody asks for times.
StepRates ordinaryRates() {
  StepRates rates;
  rates.products = 2e11;
  rates.attention = 5e10;
  rates.deviceMemory = 2e10;
  rates.in = rates.out = 8e9;
  rates.both = 1e10;
  rates.update = rates.updateBesideCopies = rates.deviceUpdate = 5e8;
  rates.diskRead = rates.diskWrite = 1e9;
  rates.sharedCores = true;
  rates.threads = 8;
  return rates;
}

struct Candidate {
  Recompute recompute;
  bool offload;
  std::int64_t group;
  int activationSlots;
};

/// Settings from the fastest to the smallest.
std::vector<Candidate> candidates(const PlanRequest& request) {
  const std::int64_t k = request.shape.microBatches;
  std::vector<Candidate> all;
  const auto add = [&](Recompute recompute, bool offload, std::int64_t group, int slots) {
    if (request.recompute && *request.recompute != recompute) return;
    if (request.offloadActivations && *request.offloadActivations != offload) return;
    if (request.group && std::min(*request.group, k) != group) return;
    all.push_back({recompute, offload, group, offload ? slots : 0});
  };
  using enum Recompute;
  if (!request.shape.training) {
    add(Full, false, 1, 0);
    return all;
  }
  std::vector<std::int64_t> groups{k};
  if (request.group) groups = {std::min(*request.group, k)};
  for (const std::int64_t group : groups) {
    for (const Recompute policy : {None, Selective, Full}) add(policy, false, group, 0);
    for (const Recompute policy : {Full, Selective, None}) add(policy, true, group, 4);
  }
  for (std::int64_t group = k / 2; group >= 1; group /= 2)
    for (const Recompute policy : {None, Selective, Full}) add(policy, false, group, 0);
  for (const std::int64_t group : {groups.front(), std::int64_t{1}})
    for (const Recompute policy : {None, Selective, Full}) add(policy, true, group, 3);
  return all;
}

RunShape shapeOf(const PlanRequest& request, const Candidate& candidate) {
  RunShape shape = request.shape;
  shape.recompute = candidate.recompute;
  shape.offloadActivations = candidate.offload;
  shape.activationSlots = candidate.activationSlots;
  shape.group = candidate.group;
  return shape;
}

void setLimits(MemoryPlan& plan, const PlanRequest& request) {
  plan.deviceLimit = request.deviceLimit;
  plan.hostLimit = request.hostLimit;
  plan.diskLimit = request.diskLimit;
}

TierTotals limitsOf(const PlanRequest& request) {
  TierTotals limits;
  limits[MemoryTier::Device] = request.deviceLimit;
  limits[MemoryTier::Host] = request.hostLimit;
  limits[MemoryTier::Disk] = request.diskLimit;
  return limits;
}

/// Sizes are added and multiplied in 63 bits; this is far above what they can come to for shapes that pass.
Status checkCountable(const ModelSpec& spec, const RunShape& shape) {
  const double tokens = static_cast<double>(shape.rows) * static_cast<double>(shape.context) *
                        static_cast<double>(std::max<std::int64_t>(1, shape.microBatches));
  const double width = static_cast<double>(spec.hidden) + static_cast<double>(spec.mlp.inner) +
                       static_cast<double>(spec.attention.heads) * static_cast<double>(spec.attention.headDim);
  const double activations = tokens * width * static_cast<double>(spec.layers.size() + 2) * 64;
  const double logits = static_cast<double>(shape.headChunk) * static_cast<double>(spec.vocabulary) * 16;
  if (activations + logits < 4e18) return {};
  return badInput(fmt::format("training: {} micro-batches of {} rows of {} tokens are beyond any memory: lower "
                              "training.micro_batch, training.context or training.tokens_per_step",
                              formatCount(shape.microBatches), formatCount(shape.rows), formatCount(shape.context)));
}

/// Without training nothing changes the weights and nothing is timed: the most that fits is on the device, the head
/// first, since it is the largest.
std::optional<MemoryPlan> planInference(const ModelSpec& spec, const PlanRequest& request) {
  const MemoryLayout layout(spec, shapeOf(request, candidates(request).front()));
  std::vector<UnitHome> homes = policyHomes(spec, request.placement, layout.units().size());
  const TierTotals limits = limitsOf(request);
  if (!within(layout.totals(homes), limits)) return std::nullopt;
  for (std::size_t i = 0; i < homes.size() && request.placement == PlacementPolicy::Auto; ++i) {
    const std::size_t unit = homes.size() - 1 - i;
    const UnitHome before = homes[unit];
    // The tied matrix has its state on the host, where its rows are gathered; all others need no second copy.
    homes[unit] = spec.tiedEmbeddings && i == 0 ? UnitHome::WeightsOnDevice : UnitHome::Device;
    if (!within(layout.totals(homes), limits)) homes[unit] = before;
  }
  return layout.plan(std::move(homes));
}

Error shortfall(const ModelSpec& spec, const PlanRequest& request, Bytes leastHost) {
  const Bytes device = smallestPlan(spec, request).total(MemoryTier::Device);
  if (device > request.deviceLimit)
    return {ErrorKind::DoesNotFit,
            fmt::format("device memory is too small: the limit is {} and at least {} ({} bytes) is needed with these "
                        "settings; raise memory.vram_limit, or lower training.micro_batch or training.context",
                        formatBytes(request.deviceLimit), formatBytes(device), device)};
  const std::string more = request.diskLimit > 0
                               ? fmt::format("with {} of disk beside it; ", formatBytes(request.diskLimit))
                               : std::string();
  return {ErrorKind::DoesNotFit,
          fmt::format("host memory is too small: the limit is {} and at least {} ({} bytes) is needed with these "
                      "settings; {}raise memory.ram_limit, choose training.clip exact-bf16 or off, or a smaller model",
                      formatBytes(request.hostLimit), formatBytes(leastHost), leastHost, more)};
}

/// Doubles the batches until compute binds, then halves the interval.
double computeBindsFrom(const StepCount& count, const PlannedStep& step, const StepRates& rates, bool split) {
  const auto binds = [&](double batches) {
    return predictStep(count.work(step.memory.homes, batches), rates, split).computeBinds;
  };
  double least = 0, most = 1;
  while (!binds(most)) {
    least = most;
    most *= 2;
    if (most > 1e6) return 0;
  }
  for (int i = 0; i < 20; ++i) {
    const double middle = (least + most) / 2;
    (binds(middle) ? most : least) = middle;
  }
  return most * step.work.tokens;
}

PlannedStep predict(const MemoryLayout& layout, const PlanRequest& request, MemoryPlan memory) {
  PlannedStep step;
  setLimits(memory, request);
  step.memory = std::move(memory);
  const StepRates rates = request.rates.value_or(ordinaryRates());
  const StepCount count(layout);
  step.work = count.work(step.memory.homes);
  step.time = predictStep(step.work, rates, request.splitUpdates);
  step.computeBindsFrom = computeBindsFrom(count, step, rates, request.splitUpdates);
  return step;
}

} // namespace

MemoryPlan smallestPlan(const ModelSpec& spec, const PlanRequest& request) {
  std::optional<MemoryPlan> smallest;
  for (const Candidate& candidate : candidates(request)) {
    const MemoryLayout layout(spec, shapeOf(request, candidate));
    std::vector<UnitHome> homes = policyHomes(spec, request.placement, layout.units().size());
    if (request.diskLimit > 0 && !within(layout.totals(homes), limitsOf(request)))
      homes = leastMemoryHomes(layout, limitsOf(request), std::move(homes));
    if (!smallest || layout.totals(homes)[MemoryTier::Device] < smallest->total(MemoryTier::Device))
      smallest = layout.plan(std::move(homes));
  }
  setLimits(*smallest, request);
  return *smallest;
}

PlannedStep predictPlan(const ModelSpec& spec, const PlanRequest& request, MemoryPlan memory) {
  const MemoryLayout layout(spec, memory.shape);
  return predict(layout, request, std::move(memory));
}

Result<PlannedStep> planStep(const ModelSpec& spec, const PlanRequest& request) {
  MILLRACE_CHECK(checkCountable(spec, request.shape));
  const TierTotals limits = limitsOf(request);
  const StepRates rates = request.rates.value_or(ordinaryRates());
  Bytes leastHost = 0;
  if (!request.shape.training) {
    std::optional<MemoryPlan> plan = planInference(spec, request);
    if (!plan) return tl::unexpected(shortfall(spec, request, smallestPlan(spec, request).total(MemoryTier::Host)));
    setLimits(*plan, request);
    return PlannedStep{std::move(*plan), {}, {}, 0};
  }
  std::optional<PlannedStep> best;
  for (const Candidate& candidate : candidates(request)) {
    const MemoryLayout layout(spec, shapeOf(request, candidate));
    const PlacementSearch search(layout, {limits, rates, request.splitUpdates, request.placement});
    const Bytes host = search.leastHost();
    if (leastHost == 0 || host < leastHost) leastHost = host;
    const std::optional<Placement> found = search.best(best ? best->time.seconds : INFINITY);
    if (!found) continue;
    best.emplace(predict(layout, request, layout.plan(found->homes)));
  }
  if (best) return std::move(*best);
  return tl::unexpected(shortfall(spec, request, leastHost));
}

Result<MemoryPlan> planMemory(const ModelSpec& spec, const PlanRequest& request) {
  MILLRACE_TRY(PlannedStep step, planStep(spec, request));
  return std::move(step.memory);
}

} // namespace millrace
