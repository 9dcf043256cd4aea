// MemoryPlan: every byte that a run allocates, by name, tier and category. The engine allocates from this list and from
// nothing else, so planned and actual bytes are the same numbers. Pure.
#pragma once

#include "base/result.h"
#include "plan/run_shape.h"
#include "plan/stream_unit.h"

#include <optional>
#include <string>
#include <vector>

namespace millrace {

enum class MemoryTier { Device, Host, Disk };
constexpr std::size_t memoryTiers = 3;

enum class MemoryCategory {
  Weights, ///< fp32 weights, or the hi and lo planes
  Moments,
  WaitingGradients, ///< gradients that wait for the clip factor, or for the next group of micro-batches
  WeightSlots,
  ResidentWeights, ///< copies in device memory of weights whose state is in host memory
  GradientSlots,
  KeptActivations,
  OffloadedActivations,
  Workspace,
  EmbeddingRows,
  Batch,
  Tables, ///< rotary tables, scalars
  Staging,
  KeyValueCache,
  UpdateSlots, ///< pieces of state that the device updates for the host
};

std::string_view toString(MemoryTier tier);
std::string_view toString(MemoryCategory category);

struct Allocation {
  std::string name;
  MemoryTier tier = MemoryTier::Host;
  MemoryCategory category = MemoryCategory::Weights;
  Bytes bytes = 0;
  std::string sharedWith = {}; ///< another allocation, whose bytes these are; then bytes is 0
};

/// Where a stream unit's state lives and how its weights reach the kernels.
enum class UnitHome {
  Host,            ///< streamed twice a step; AdamW on the host
  WeightsOnDevice, ///< copied to the device once a step; AdamW on the host
  Device,          ///< state, gradients and AdamW on the device; nothing crosses the bus
  MomentsOnDisk,   ///< as Host, but what only AdamW reads is on disk
  Disk,            ///< all planes on disk, streamed through buffers in host memory
};
constexpr std::size_t unitHomes = 5;
/// Whether the unit's weights come in over the bus for each pass.
constexpr bool streams(UnitHome home) {
  return home != UnitHome::WeightsOnDevice && home != UnitHome::Device;
}
constexpr bool onDisk(UnitHome home) {
  return home == UnitHome::MomentsOnDisk || home == UnitHome::Disk;
}
std::string_view toString(UnitHome home);
/// The embedding tables are wholly on the device where the head is, else on the host, where their rows are gathered. A
/// tied matrix is one of them.
constexpr UnitHome tablesHome(UnitHome head) {
  return head == UnitHome::Device ? UnitHome::Device : UnitHome::Host;
}

/// Planes of a block's state.
enum class Plane {
  Weights,   ///< fp32, or hi: what kernels compute with
  Remainder, ///< lo, with bf16 weights
  Moment1,
  Moment2,
  Gradient, ///< waiting for AdamW
  Partial,  ///< fp32 sums between groups, where Gradient is narrower or absent
};
std::string_view toString(Plane plane);

struct TierTotals {
  std::array<Bytes, memoryTiers> bytes{};
  Bytes& operator[](MemoryTier tier) { return bytes[static_cast<std::size_t>(tier)]; }
  Bytes operator[](MemoryTier tier) const { return bytes[static_cast<std::size_t>(tier)]; }
};

struct MemoryPlan {
  RunShape shape;
  std::vector<UnitHome> homes; ///< per unit of unitsOf()
  std::vector<Allocation> allocations;
  /// Of each block with its state in host memory, tables aside: the share that AdamW updates on the device, through the
  /// update slots, while the host updates the rest.
  double deviceUpdateShare = 0;
  Bytes deviceLimit = 0;
  Bytes hostLimit = 0;
  Bytes diskLimit = 0;

  Bytes total(MemoryTier tier) const;
  Bytes total(MemoryTier tier, MemoryCategory category) const;
  TierTotals totals() const;
  Bytes limit(MemoryTier tier) const;
  bool fits() const;
  const Allocation* find(const std::string& name) const;
};

/// Names of allocations that both the plan and the engine speak of.
namespace allocation_name {
std::string plane(Plane plane, const BlockSpec& block);
/// Whether the name is one of plane()'s.
bool isOf(std::string_view name, Plane plane);
std::string weightSlot(int slot);
std::string gradientSlot(int slot);
std::string narrowGradientSlot(int slot);
std::string residentWeights(std::int64_t unit);
std::string residentGradients(std::int64_t unit);
std::string residentNarrowGradients(std::int64_t unit);
std::string landing(int slot);
std::string updateSlot(int slot);
std::string diskWeights(int slot);
std::string diskGradients(int slot);
std::string diskState(int slot);
inline const std::string headWeightSlot = "head weight slot";
inline const std::string headGradientSlot = "head gradient slot";
inline const std::string activations = "kept activations";
inline const std::string offloaded = "offloaded activations";
inline const std::string workspace = "workspace";
inline const std::string embeddingRows = "embedding rows";
inline const std::string batch = "batch";
inline const std::string rope = "rotary table";
inline const std::string scalars = "scalars";
inline const std::string stagedRows = "staged embedding rows";
inline const std::string stagedRowGradients = "staged embedding gradients";
inline const std::string stagedBatch = "staged batch";
inline const std::string stagedScalars = "staged scalars";
inline const std::string inputEmbeddingGradients = "input part of the tied embedding's gradient";
inline const std::string stepRows = "embedding rows of a step";
inline const std::string stagedStepRows = "staged embedding rows of a step";
inline const std::string keyValueCache = "key/value cache";
} // namespace allocation_name

/// Bytes of one micro-batch's integers on the device, and where each array starts (T int32 entries each, order and
/// starts as in EmbeddingBackwardArgs).
struct BatchLayout {
  BatchLayout(const ModelSpec& spec, const RunShape& shape);
  Bytes tokens = 0, rowIds = 0, positions = 0, documentStart = 0, targets = 0;
  Bytes order = 0, starts = 0, rowTokens = 0;  ///< training
  Bytes positionOrder = 0, positionStarts = 0; ///< training with learned positions
  Bytes bytes = 0;
};

/// Bytes that an element takes in an update slot: weight, or hi and lo; both moments; gradient.
constexpr Bytes updateSlotBytes = 16;

/// Gradients of these blocks always wait in fp32: their rows are added to from several sides.
bool waitsInFp32(BlockKind kind);

/// All allocations of a run with these settings, homes by unit of unitsOf(). Limits are left 0.
MemoryPlan layOutMemory(const ModelSpec& spec, const RunShape& shape, std::vector<UnitHome> homes);

/// The plan with layers that share `sets` sets of host memory in turn: the work of a model in the memory of a few of
/// its layers, for measurements. What is computed means nothing. Layers must all have the home Host, and none be
/// held.
MemoryPlan aliasLayers(const ModelSpec& spec, MemoryPlan plan, std::int64_t sets);

} // namespace millrace
