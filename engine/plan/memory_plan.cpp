#include "plan/memory_plan.h"

#include "plan/memory_layout.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <map>

namespace millrace {

std::string_view toString(MemoryTier tier) {
  switch (tier) {
  case MemoryTier::Device:
    return "device";
  case MemoryTier::Host:
    return "host";
  case MemoryTier::Disk:
    return "disk";
  }
  return "unknown";
}

std::string_view toString(UnitHome home) {
  switch (home) {
  case UnitHome::Host:
    return "host";
  case UnitHome::WeightsOnDevice:
    return "weights on device";
  case UnitHome::Device:
    return "device";
  case UnitHome::MomentsOnDisk:
    return "moments on disk";
  case UnitHome::Disk:
    return "disk";
  }
  return "unknown";
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
  case MemoryCategory::UpdateSlots:
    return "update slots";
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
bool isOf(std::string_view name, Plane plane) {
  return name.starts_with(toString(plane)) && name.substr(toString(plane).size()).starts_with(" of ");
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
std::string updateSlot(int slot) {
  return fmt::format("update slot {}", slot);
}
std::string diskWeights(int slot) {
  return fmt::format("weights read from disk {}", slot);
}
std::string diskGradients(int slot) {
  return fmt::format("gradients on their way to disk {}", slot);
}
std::string diskState(int slot) {
  return fmt::format("state updated from disk {}", slot);
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

TierTotals MemoryPlan::totals() const {
  TierTotals totals;
  for (const Allocation& allocation : allocations) totals[allocation.tier] += allocation.bytes;
  return totals;
}

Bytes MemoryPlan::limit(MemoryTier tier) const {
  return tier == MemoryTier::Device ? deviceLimit : tier == MemoryTier::Host ? hostLimit : diskLimit;
}

bool MemoryPlan::fits() const {
  return total(MemoryTier::Device) <= deviceLimit && total(MemoryTier::Host) <= hostLimit &&
         total(MemoryTier::Disk) <= diskLimit;
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
  const std::int64_t count = shape.tokens();
  place(tokens, count);
  place(rowIds, count);
  place(positions, count);
  place(documentStart, std::max(count, shape.rows * shape.cacheTokens));
  place(targets, count);
  if (!shape.training) return;
  place(order, count);
  place(starts, embeddingRows(spec, shape) + 1);
  place(rowTokens, embeddingRows(spec, shape));
  if (!spec.learnedPositions) return;
  place(positionOrder, count);
  place(positionStarts, shape.context + 1);
}

bool waitsInFp32(BlockKind kind) {
  return kind != BlockKind::Attention && kind != BlockKind::Mlp;
}

MemoryPlan layOutMemory(const ModelSpec& spec, const RunShape& shape, std::vector<UnitHome> homes) {
  return MemoryLayout(spec, shape).plan(std::move(homes));
}

MemoryPlan aliasLayers(const ModelSpec& spec, MemoryPlan plan, std::int64_t sets) {
  assert(plan.shape.heldLayers == 0); // layers must be alike
  const std::vector<BlockSpec> blocks = blocksOf(spec);
  std::map<std::string, std::string> shared; // a plane's name, and whose memory it has
  for (const BlockSpec& block : blocks) {
    if (block.layer < sets) continue;
    assert(plan.homes[static_cast<std::size_t>(block.layer)] == UnitHome::Host);
    const auto owner = std::find_if(blocks.begin(), blocks.end(), [&](const BlockSpec& other) {
      return other.layer == block.layer % sets && other.kind == block.kind;
    });
    for (const Plane plane :
         {Plane::Weights, Plane::Remainder, Plane::Moment1, Plane::Moment2, Plane::Gradient, Plane::Partial})
      shared[allocation_name::plane(plane, block)] = allocation_name::plane(plane, *owner);
  }
  for (Allocation& allocation : plan.allocations)
    if (const auto found = shared.find(allocation.name); found != shared.end()) {
      allocation.sharedWith = found->second;
      allocation.bytes = 0;
    }
  return plan;
}

} // namespace millrace
