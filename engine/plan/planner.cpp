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
  int updateSlots;
};

/// One comes in, one is updated, one goes out.
constexpr int splitUpdateSlots = 3;

/// Group sizes from one group to k: the smallest ones for their number of groups, which is doubled and has the halfway
/// numbers between.
std::vector<std::int64_t> groupSizes(std::int64_t k) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t groups = 1; groups <= k; groups *= 2)
    for (const std::int64_t n : {groups, groups + groups / 2})
      if (const std::int64_t size = (k + n - 1) / n; sizes.empty() || size < sizes.back()) sizes.push_back(size);
  if (sizes.back() != 1) sizes.push_back(1);
  return sizes;
}

/// Settings from the fastest to the smallest.
std::vector<Candidate> candidates(const PlanRequest& request) {
  const std::int64_t k = request.shape.microBatches;
  std::vector<Candidate> all;
  const auto add = [&](Recompute recompute, bool offload, std::int64_t group, int slots) {
    if (request.recompute && *request.recompute != recompute) return;
    if (request.offloadActivations && *request.offloadActivations != offload) return;
    all.push_back({recompute, offload, group, offload ? slots : 0, 0});
  };
  using enum Recompute;
  if (!request.shape.training) return {{Full, false, 1, 0, 0}};
  const std::vector<std::int64_t> groups = request.group ? std::vector{std::min(*request.group, k)} : groupSizes(k);
  for (const std::int64_t group : groups) {
    for (const Recompute policy : {None, Selective, Full}) add(policy, false, group, 0);
    for (const int slots : {4, 3})
      for (const Recompute policy : {Full, Selective, None}) add(policy, true, group, slots);
  }
  // With clipping off updates run all the time: gradients that are held do for forward what splitting would.
  if (!request.splitUpdates || request.shape.clip == ClipMode::Off) return all;
  std::vector<Candidate> splitting = all;
  for (Candidate& candidate : splitting) candidate.updateSlots = splitUpdateSlots;
  if (request.deviceUpdateShare) return splitting;
  all.insert(all.end(), splitting.begin(), splitting.end());
  return all;
}

RunShape shapeOf(const PlanRequest& request, const Candidate& candidate) {
  RunShape shape = request.shape;
  shape.recompute = candidate.recompute;
  shape.offloadActivations = candidate.offload;
  shape.activationSlots = candidate.activationSlots;
  shape.group = candidate.group;
  shape.updateSlots = candidate.updateSlots;
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

/// Without training nothing changes the weights and nothing is timed: the most that the device has room for is there,
/// the head and the tables first, since they are the largest. What is there needs no second copy on the host. Limits of
/// host memory are not looked at.
HomeCounts inferenceCounts(const MemoryLayout& layout, const PlanRequest& request) {
  const ModelSpec& spec = layout.spec();
  HomeCounts counts = policyCounts(spec, request.placement);
  if (request.placement != PlacementPolicy::Auto) return counts;
  const auto fits = [&] { return layout.totals(counts)[MemoryTier::Device] <= request.deviceLimit; };
  const auto fill = [&](UnitHome head) {
    counts = policyCounts(spec, PlacementPolicy::Host);
    counts.head = head;
    while (counts[UnitHome::Host] > 0) {
      --counts[UnitHome::Host];
      ++counts[UnitHome::Device];
      if (fits()) continue;
      ++counts[UnitHome::Host];
      --counts[UnitHome::Device];
      break;
    }
    return counts;
  };
  const HomeCounts without = fill(UnitHome::Host);
  const HomeCounts with = fill(UnitHome::Device);
  const bool fitsWith = fits();
  return fitsWith && layout.totals(with)[MemoryTier::Host] <= layout.totals(without)[MemoryTier::Host] ? with : without;
}

Error shortfall(const ModelSpec& spec, const PlanRequest& request, Bytes leastHost) {
  // Commands that train nothing have no project, whose keys could be named.
  const bool training = request.shape.training;
  const auto tooSmall = [](std::string_view memory, Bytes limit, Bytes least, std::string_view advice) {
    return Error{ErrorKind::DoesNotFit,
                 fmt::format("{} memory is too small: the limit is {} and at least {} ({} bytes) is needed with these "
                             "settings; {}",
                             memory, formatBytes(limit), formatBytes(least), least, advice)};
  };
  const Bytes device = smallestPlan(spec, request).total(MemoryTier::Device);
  if (device > request.deviceLimit)
    return tooSmall("device", request.deviceLimit, device,
                    training ? "raise memory.vram_limit, or lower training.micro_batch or training.context"
                             : "allow more of it, or take fewer tokens at once");
  std::string advice =
      training ? "raise memory.ram_limit, or choose a smaller model" : "allow more of it, or choose a smaller model";
  if (request.diskLimit > 0)
    advice = fmt::format("with {} of disk beside it; {}", formatBytes(request.diskLimit), advice);
  return tooSmall("host", request.hostLimit, leastHost, advice);
}

Result<PlannedStep> planInference(const ModelSpec& spec, const PlanRequest& request) {
  const MemoryLayout layout(spec, shapeOf(request, candidates(request).front()));
  const HomeCounts counts = inferenceCounts(layout, request);
  const TierTotals totals = layout.totals(counts);
  if (!within(totals, limitsOf(request))) return tl::unexpected(shortfall(spec, request, totals[MemoryTier::Host]));
  MemoryPlan plan = layout.plan(spreadHomes(counts));
  setLimits(plan, request);
  return PlannedStep{std::move(plan), {}, {}, 0};
}

/// Doubles the batches until compute binds, then halves the interval.
template <class Predict>
double computeBindsFrom(const StepCount& count, const HomeCounts& counts, const PlannedStep& step,
                        const Predict& predict) {
  const auto binds = [&](double batches) { return predict(count.work(counts, batches)).computeBinds; };
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
  const bool split = step.memory.shape.updateSlots > 0;
  const auto predict = [&](const StepWork& work) { return predictStep(work, rates, split, request.deviceUpdateShare); };
  step.time = predict(step.work);
  step.computeBindsFrom = computeBindsFrom(count, layout.counts(step.memory.homes), step, predict);
  if (split) {
    const double movable = step.work.hostUpdates - step.work.tableUpdates;
    step.memory.deviceUpdateShare = movable > 0 ? std::min(1.0, step.time.updatedOnDevice / movable) : 0;
  }
  return step;
}

struct Leanest {
  Candidate candidate;
  HomeCounts counts;
  TierTotals totals;
};

/// The settings that need the least host memory of those that device and disk have room for, or the first that fit all
/// limits; nullopt: the device has room for none.
std::optional<Leanest> findLeanest(const ModelSpec& spec, const PlanRequest& request) {
  const PlacementGoal goal{limitsOf(request), {}, false, {}, false, request.placement};
  const auto parts = std::make_shared<const ModelParts>(spec);
  std::optional<Leanest> leanest;
  for (const Candidate& candidate : candidates(request)) {
    const MemoryLayout layout(spec, shapeOf(request, candidate), parts);
    const std::optional<HomeCounts> lean = PlacementSearch(layout, goal).leanest();
    if (!lean) continue;
    const TierTotals totals = layout.totals(*lean);
    if (leanest && totals[MemoryTier::Host] >= leanest->totals[MemoryTier::Host]) continue;
    leanest = Leanest{candidate, *lean, totals};
    if (within(totals, goal.limits)) break;
  }
  return leanest;
}

} // namespace

MemoryPlan smallestPlan(const ModelSpec& spec, const PlanRequest& request) {
  std::optional<Candidate> smallest;
  Bytes least = 0;
  const HomeCounts counts = policyCounts(spec, request.placement);
  const auto parts = std::make_shared<const ModelParts>(spec);
  for (const Candidate& candidate : candidates(request)) {
    const Bytes device = MemoryLayout(spec, shapeOf(request, candidate), parts).totals(counts)[MemoryTier::Device];
    if (smallest && device >= least) continue;
    smallest = candidate;
    least = device;
  }
  const MemoryLayout layout(spec, shapeOf(request, *smallest));
  TierTotals limits = limitsOf(request);
  limits[MemoryTier::Device] = least;
  HomeCounts placed = counts;
  if (request.diskLimit > 0 && request.shape.training && !within(layout.totals(counts), limits))
    placed = PlacementSearch(layout, {limits, {}, false, {}, false, request.placement}).leanest().value_or(counts);
  MemoryPlan plan = layout.plan(spreadHomes(placed));
  setLimits(plan, request);
  return plan;
}

PlannedStep predictPlan(const ModelSpec& spec, const PlanRequest& request, MemoryPlan memory) {
  const MemoryLayout layout(spec, memory.shape);
  return predict(layout, request, std::move(memory));
}

MemoryPlan leanestPlan(const ModelSpec& spec, const PlanRequest& request) {
  const std::optional<Leanest> leanest = findLeanest(spec, request);
  if (!leanest) return smallestPlan(spec, request); // the device is what is too small
  MemoryPlan plan = MemoryLayout(spec, shapeOf(request, leanest->candidate)).plan(spreadHomes(leanest->counts));
  setLimits(plan, request);
  return plan;
}

Result<TierTotals> leastMemory(const ModelSpec& spec, const PlanRequest& request) {
  MILLRACE_CHECK(checkCountable(spec, request.shape));
  if (!request.shape.training) {
    MILLRACE_TRY(const PlannedStep step, planInference(spec, request));
    return step.memory.totals();
  }
  const std::optional<Leanest> leanest = findLeanest(spec, request);
  if (leanest && within(leanest->totals, limitsOf(request))) return leanest->totals;
  return tl::unexpected(shortfall(spec, request, leanest ? leanest->totals[MemoryTier::Host] : 0));
}

namespace {

/// A step that writes to the disk, which wears the drive, must be so many times as fast as one that does not.
constexpr double worthWearing = 1.01;

Result<PlannedStep> fastestStep(const ModelSpec& spec, const PlanRequest& request) {
  MILLRACE_CHECK(leastMemory(spec, request));
  const StepRates rates = request.rates.value_or(ordinaryRates());
  const auto parts = std::make_shared<const ModelParts>(spec);
  std::optional<Placement> best;
  std::optional<Candidate> chosen;
  for (const Candidate& candidate : candidates(request)) {
    const MemoryLayout layout(spec, shapeOf(request, candidate), parts);
    const PlacementGoal goal{limitsOf(request),         rates,
                             candidate.updateSlots > 0, request.deviceUpdateShare,
                             request.holdGradients,     request.placement};
    const std::optional<Placement> found = PlacementSearch(layout, goal).best(best ? best->cost : INFINITY);
    if (!found) continue;
    best = found;
    chosen = candidate;
  }
  if (!chosen) return badInput("no time can be predicted for this machine: a rate is 0 or not a number");
  RunShape shape = shapeOf(request, *chosen);
  shape.heldLayers = best->counts.held;
  const MemoryLayout layout(spec, shape, parts);
  return predict(layout, request, layout.plan(spreadHomes(best->counts)));
}

} // namespace

Result<PlannedStep> planStep(const ModelSpec& spec, const PlanRequest& request) {
  if (!request.shape.training) {
    MILLRACE_CHECK(checkCountable(spec, request.shape));
    return planInference(spec, request);
  }
  MILLRACE_TRY(PlannedStep step, fastestStep(spec, request));
  if (step.memory.total(MemoryTier::Disk) == 0) return step;
  PlanRequest memoryAlone = request;
  memoryAlone.diskLimit = 0;
  Result<PlannedStep> without = fastestStep(spec, memoryAlone);
  if (!without || without->time.seconds > worthWearing * step.time.seconds) return step;
  setLimits(without->memory, request);
  return without;
}

Result<MemoryPlan> planMemory(const ModelSpec& spec, const PlanRequest& request) {
  MILLRACE_TRY(PlannedStep step, planStep(spec, request));
  return std::move(step.memory);
}

} // namespace millrace
