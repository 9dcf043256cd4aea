#include "plan/memory_plan.h"

#include "plan/head_layout.h"
#include "plan/layer_layout.h"

#include "model/rope_table.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

std::string_view toString(MemoryTier tier) {
  return tier == MemoryTier::Device ? "device" : "host";
}

std::string_view toString(MemoryCategory category) {
  switch (category) {
  case MemoryCategory::Weights:
    return "weights";
  case MemoryCategory::Moments:
    return "moments";
  case MemoryCategory::WaitingGradients:
    return "waiting gradients";
  case MemoryCategory::WeightSlots:
    return "weight slots";
  case MemoryCategory::ResidentWeights:
    return "resident weights";
  case MemoryCategory::GradientSlots:
    return "gradient slots";
  case MemoryCategory::KeptActivations:
    return "kept activations";
  case MemoryCategory::OffloadedActivations:
    return "offloaded activations";
  case MemoryCategory::Workspace:
    return "workspace";
  case MemoryCategory::EmbeddingRows:
    return "embedding rows";
  case MemoryCategory::Batch:
    return "batch";
  case MemoryCategory::Tables:
    return "tables";
  case MemoryCategory::Staging:
    return "staging";
  case MemoryCategory::KeyValueCache:
    return "key/value cache";
  }
  return "unknown";
}

std::string_view toString(Plane plane) {
  switch (plane) {
  case Plane::Weights:
    return "weights";
  case Plane::Remainder:
    return "remainders";
  case Plane::Moment1:
    return "first moments";
  case Plane::Moment2:
    return "second moments";
  case Plane::Gradient:
    return "gradients";
  case Plane::Partial:
    return "partial gradients";
  }
  return "unknown";
}

namespace allocation_name {
std::string plane(Plane plane, const BlockSpec& block) {
  return fmt::format("{} of {}", toString(plane), block.name);
}
std::string weightSlot(int slot) {
  return fmt::format("weight slot {}", slot);
}
std::string gradientSlot(int slot) {
  return fmt::format("gradient slot {}", slot);
}
std::string narrowGradientSlot(int slot) {
  return fmt::format("bf16 gradient slot {}", slot);
}
std::string residentWeights(std::int64_t unit) {
  return fmt::format("resident weights of unit {}", unit);
}
std::string residentGradients(std::int64_t unit) {
  return fmt::format("resident gradients of unit {}", unit);
}
std::string residentNarrowGradients(std::int64_t unit) {
  return fmt::format("resident bf16 gradients of unit {}", unit);
}
std::string landing(int slot) {
  return fmt::format("gradient landing {}", slot);
}
} // namespace allocation_name

Bytes MemoryPlan::total(MemoryTier tier) const {
  Bytes sum = 0;
  for (const Allocation& allocation : allocations)
    if (allocation.tier == tier) sum += allocation.bytes;
  return sum;
}

Bytes MemoryPlan::total(MemoryTier tier, MemoryCategory category) const {
  Bytes sum = 0;
  for (const Allocation& allocation : allocations)
    if (allocation.tier == tier && allocation.category == category) sum += allocation.bytes;
  return sum;
}

const Allocation* MemoryPlan::find(const std::string& name) const {
  const auto found =
      std::find_if(allocations.begin(), allocations.end(), [&](const Allocation& a) { return a.name == name; });
  return found == allocations.end() ? nullptr : &*found;
}

BatchLayout::BatchLayout(const ModelSpec& spec, const RunShape& shape) {
  const auto place = [this](Bytes& offset, std::int64_t entries) {
    offset = bytes;
    bytes += alignUp(entries * 4);
  };
  const std::int64_t tokens = shape.tokens();
  place(rowIds, tokens);
  place(positions, tokens);
  place(documentStart, std::max(tokens, shape.rows * shape.cacheTokens));
  place(targets, tokens);
  if (!shape.training) return;
  place(order, tokens);
  place(starts, embeddingRows(spec, shape) + 1);
  if (!spec.learnedPositions) return;
  place(positionOrder, tokens);
  place(positionStarts, shape.context + 1);
}

bool waitsInFp32(BlockKind kind) {
  return kind != BlockKind::Attention && kind != BlockKind::Mlp;
}

MemoryPlan layOutMemory(const ModelSpec& spec, const RunShape& shape, std::vector<UnitHome> homes) {
  using enum MemoryTier;
  namespace name = allocation_name;
  const std::vector<BlockSpec> blocks = blocksOf(spec);
  const std::vector<StreamUnit> units = unitsOf(blocks);
  const LayerLayout layer(spec, shape);
  const HeadLayout head(spec, shape);
  const EmbeddingGradientLayout rowGradients(spec, shape);
  const BatchLayout batch(spec, shape);
  const auto layerCount = static_cast<std::int64_t>(spec.layers.size());
  const Bytes activation = bytesPerElement(shape.activationType());

  MemoryPlan plan;
  plan.shape = shape;
  plan.homes = std::move(homes);
  const auto add = [&](std::string what, MemoryTier tier, MemoryCategory category, Bytes bytes) {
    if (bytes > 0) plan.allocations.push_back({std::move(what), tier, category, alignUp(bytes)});
  };

  // State of every block, in the tier of its unit. Embedding tables stay on the host: their rows are gathered there.
  std::vector<MemoryTier> blockTier(blocks.size(), Host);
  std::vector<bool> streamedGradient(blocks.size(), true);
  for (std::size_t u = 0; u < units.size(); ++u)
    for (const std::size_t b : units[u].blocks)
      if (plan.homes[u] == UnitHome::Device && blocks[b].kind != BlockKind::Embedding) {
        blockTier[b] = Device;
        streamedGradient[b] = false;
      }
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const BlockSpec& block = blocks[b];
    const std::int64_t n = block.elements;
    const MemoryTier tier = blockTier[b];
    add(name::plane(Plane::Weights, block), tier, MemoryCategory::Weights, n * shape.weightBytes());
    if (!shape.training) continue;
    if (shape.precision == Precision::Bf16)
      add(name::plane(Plane::Remainder, block), tier, MemoryCategory::Weights, n * 2);
    add(name::plane(Plane::Moment1, block), tier, MemoryCategory::Moments, n * 4);
    add(name::plane(Plane::Moment2, block), tier, MemoryCategory::Moments, n * 4);
    if (!streamedGradient[b]) continue;
    const bool wide = waitsInFp32(block.kind) || shape.clip == ClipMode::Exact;
    if (wide)
      add(name::plane(Plane::Gradient, block), Host, MemoryCategory::WaitingGradients, n * 4);
    else if (shape.clip == ClipMode::ExactBf16)
      add(name::plane(Plane::Gradient, block), Host, MemoryCategory::WaitingGradients, n * 2);
    if (!wide && shape.group < shape.microBatches)
      add(name::plane(Plane::Partial, block), Host, MemoryCategory::WaitingGradients, n * 4);
  }

  // What units stream through.
  std::int64_t layerElements = 0;
  std::int64_t streamedLayers = 0;
  std::int64_t gradientLayers = 0;
  for (std::size_t u = 0; u < units.size(); ++u) {
    const StreamUnit& unit = units[u];
    const UnitHome home = plan.homes[u];
    if (home == UnitHome::WeightsOnDevice)
      add(name::residentWeights(static_cast<std::int64_t>(u)), Device, MemoryCategory::ResidentWeights,
          unit.elements * shape.weightBytes());
    if (home == UnitHome::Device && shape.training)
      add(name::residentGradients(static_cast<std::int64_t>(u)), Device, MemoryCategory::GradientSlots,
          unit.elements * 4);
    if (home == UnitHome::Device && shape.training && !unit.isHead() && shape.clip == ClipMode::ExactBf16)
      add(name::residentNarrowGradients(static_cast<std::int64_t>(u)), Device, MemoryCategory::GradientSlots,
          unit.elements * 2);
    if (unit.isHead()) {
      if (home == UnitHome::Host)
        add(name::headWeightSlot, Device, MemoryCategory::WeightSlots, unit.elements * shape.weightBytes());
      if (home != UnitHome::Device && shape.training)
        add(name::headGradientSlot, Device, MemoryCategory::GradientSlots, unit.elements * 4);
    } else {
      layerElements = std::max(layerElements, unit.elements);
      streamedLayers += home == UnitHome::Host ? 1 : 0;
      gradientLayers += home != UnitHome::Device ? 1 : 0;
    }
  }
  for (int slot = 0; slot < std::min<std::int64_t>(shape.slots, streamedLayers); ++slot)
    add(name::weightSlot(slot), Device, MemoryCategory::WeightSlots, layerElements * shape.weightBytes());
  if (shape.training) {
    for (int slot = 0; slot < std::min<std::int64_t>(2, gradientLayers); ++slot) {
      add(name::gradientSlot(slot), Device, MemoryCategory::GradientSlots, layerElements * 4);
      if (shape.clip == ClipMode::ExactBf16)
        add(name::narrowGradientSlot(slot), Device, MemoryCategory::GradientSlots, layerElements * 2);
      if (shape.clip == ClipMode::Off) add(name::landing(slot), Host, MemoryCategory::Staging, layerElements * 4);
    }
  }

  // Activations. Without training a layer's input and output are all that ever exists.
  const std::int64_t levels = shape.training ? layerCount : 2;
  const Bytes keptBytes = shape.group * (levels * layer.recordBytes() + (shape.training ? layer.inputBytes() : 0));
  if (shape.offloadActivations) {
    add(name::activations, Device, MemoryCategory::KeptActivations, shape.activationSlots * layer.recordBytes());
    add(name::offloaded, Host, MemoryCategory::OffloadedActivations, keptBytes);
  } else {
    add(name::activations, Device, MemoryCategory::KeptActivations, keptBytes);
  }
  const Bytes rows = alignUp(embeddingRows(spec, shape) * spec.hidden * activation);
  const Bytes positionRows =
      spec.learnedPositions ? alignUp(std::max(shape.context, shape.cacheTokens) * spec.hidden * activation) : 0;
  add(name::workspace, Device, MemoryCategory::Workspace,
      std::max({layer.workspaceBytes(), head.bytes, shape.training ? rowGradients.bytes : 0}));
  add(name::embeddingRows, Device, MemoryCategory::EmbeddingRows, rows + positionRows);
  add(name::batch, Device, MemoryCategory::Batch, shape.group * batch.bytes);
  if (spec.rope)
    add(name::rope, Device, MemoryCategory::Tables,
        std::max(shape.context, shape.cacheTokens) * rotaryDim(*spec.rope, spec.attention.headDim) * 4);
  add(name::scalars, Device, MemoryCategory::Tables, (1 + static_cast<Bytes>(blocks.size())) * 8);
  if (shape.cacheTokens > 0)
    add(name::keyValueCache, Device, MemoryCategory::KeyValueCache,
        layerCount *
            alignUp(shape.rows * shape.cacheTokens * 2 * spec.attention.kvHeads * spec.attention.headDim * activation));

  add(name::stagedRows, Host, MemoryCategory::Staging, rows + positionRows);
  add(name::stagedBatch, Host, MemoryCategory::Staging, shape.group * batch.bytes);
  add(name::stagedScalars, Host, MemoryCategory::Staging, (1 + static_cast<Bytes>(blocks.size())) * 8);
  if (shape.training) {
    add(name::stagedRowGradients, Host, MemoryCategory::Staging, rowGradients.bytes);
    if (spec.tiedEmbeddings)
      add(name::inputEmbeddingGradients, Host, MemoryCategory::WaitingGradients,
          std::min(spec.vocabulary, shape.tokens() * shape.microBatches) * spec.hidden * 4);
  }
  return plan;
}

namespace {

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

MemoryPlan layOut(const ModelSpec& spec, const PlanRequest& request, const Candidate& candidate,
                  std::vector<UnitHome> homes) {
  RunShape shape = request.shape;
  shape.recompute = candidate.recompute;
  shape.offloadActivations = candidate.offload;
  shape.activationSlots = candidate.activationSlots;
  shape.group = candidate.group;
  MemoryPlan plan = layOutMemory(spec, shape, std::move(homes));
  plan.deviceLimit = request.deviceLimit;
  plan.hostLimit = request.hostLimit;
  return plan;
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

std::vector<UnitHome> baseHomes(const ModelSpec& spec, const PlanRequest& request, std::size_t units) {
  UnitHome home = UnitHome::Host;
  if (request.placement == PlacementPolicy::Weights) home = UnitHome::WeightsOnDevice;
  if (request.placement == PlacementPolicy::Device) home = UnitHome::Device;
  std::vector<UnitHome> homes(units, home);
  // The tied matrix has its state on the host, where its rows are gathered.
  if (spec.tiedEmbeddings && home == UnitHome::Device) homes.back() = UnitHome::WeightsOnDevice;
  return homes;
}

/// Spends what is left of device memory on units that then cross the bus less: the head first (it is the largest), then
/// layers.
MemoryPlan improveHomes(const ModelSpec& spec, const PlanRequest& request, const Candidate& candidate,
                        MemoryPlan plan) {
  if (request.placement != PlacementPolicy::Auto) return plan;
  for (std::size_t i = 0; i < plan.homes.size(); ++i) {
    const std::size_t unit = plan.homes.size() - 1 - i;
    std::vector<UnitHome> homes = plan.homes;
    // Without training nothing changes the weights, so those on the device need no second copy on the host.
    const bool tiedHead = spec.tiedEmbeddings && unit + 1 == homes.size();
    homes[unit] = request.shape.training || tiedHead ? UnitHome::WeightsOnDevice : UnitHome::Device;
    MemoryPlan better = layOut(spec, request, candidate, std::move(homes));
    if (!better.fits()) continue;
    plan = std::move(better);
  }
  return plan;
}

} // namespace

MemoryPlan smallestPlan(const ModelSpec& spec, const PlanRequest& request) {
  const std::size_t units = unitsOf(blocksOf(spec)).size();
  std::optional<MemoryPlan> smallest;
  for (const Candidate& candidate : candidates(request)) {
    MemoryPlan plan = layOut(spec, request, candidate, baseHomes(spec, request, units));
    if (!smallest || plan.total(MemoryTier::Device) < smallest->total(MemoryTier::Device)) smallest = std::move(plan);
  }
  return *smallest;
}

Result<MemoryPlan> planMemory(const ModelSpec& spec, const PlanRequest& request) {
  MILLRACE_CHECK(checkCountable(spec, request.shape));
  const std::size_t units = unitsOf(blocksOf(spec)).size();
  Bytes leastHost = 0;
  for (const Candidate& candidate : candidates(request)) {
    MemoryPlan plan = layOut(spec, request, candidate, baseHomes(spec, request, units));
    const Bytes host = plan.total(MemoryTier::Host);
    if (leastHost == 0 || host < leastHost) leastHost = host;
    if (plan.fits()) return improveHomes(spec, request, candidate, std::move(plan));
  }
  const MemoryPlan smallest = smallestPlan(spec, request);
  const Bytes device = smallest.total(MemoryTier::Device);
  if (device > request.deviceLimit)
    return failure(
        ErrorKind::DoesNotFit,
        fmt::format(
            "device memory is too small: the limit is {} and at least {} ({} bytes) is needed with these settings; "
            "raise memory.vram_limit, or lower training.micro_batch or training.context",
            formatBytes(request.deviceLimit), formatBytes(device), device));
  return failure(
      ErrorKind::DoesNotFit,
      fmt::format(
          "host memory is too small: the limit is {} and at least {} ({} bytes) is needed with these settings; raise "
          "memory.ram_limit, choose training.clip exact-bf16 or off, or a smaller model",
          formatBytes(request.hostLimit), formatBytes(leastHost), leastHost));
}

} // namespace millrace
