#include "plan/memory_layout.h"

#include "model/rope_table.h"

#include <algorithm>
#include <cassert>

namespace millrace {

namespace {
namespace name = allocation_name;
using enum MemoryTier;

/// What is on disk passes through host memory in pieces, of which so many are under way at one time.
constexpr int diskBuffers = 3;
constexpr Bytes diskPiece = 64 * MiB;
/// Pieces of a plane begin where a transfer may, whether an element takes two bytes there or four; and where planes
/// follow each other in a buffer, each begins on a page.
constexpr std::int64_t diskPieceStep = 512 * 1024;
constexpr std::int64_t diskPageElements = 4096 / 2;

/// Buffers for blocks of which so many bytes an element pass through at once: how large, and how many pieces there are.
struct DiskBuffers {
  Bytes bytes = 0;
  std::int64_t pieces = 0;
  void take(std::int64_t count, std::int64_t elements, Bytes bytesPerElement) {
    if (bytesPerElement == 0) return;
    const std::int64_t most = diskPiece / bytesPerElement / diskPieceStep * diskPieceStep;
    const std::int64_t piece = std::min(most, alignUp(elements, diskPageElements));
    bytes = std::max(bytes, piece * bytesPerElement);
    pieces += count * ((elements + piece - 1) / piece);
  }
};

/// Elements in an update slot: enough that copies of it run at full speed.
constexpr std::int64_t updatePiece = 4 << 20;

/// For visits: adds up what they give.
auto into(TierTotals& totals) {
  return [&totals](const auto&, MemoryTier tier, MemoryCategory, Bytes bytes) { totals[tier] += alignUp(bytes); };
}

/// For visits: what devices have on the host, each its own.
template <class Add>
auto ofEachDevice(const RunShape& shape, const Add& add) {
  return [&shape, &add](const auto& name, MemoryTier tier, MemoryCategory category, Bytes bytes) {
    add(name, tier, category, tier == Host ? bytes * shape.devices : bytes);
  };
}

void addTimes(TierTotals& sum, std::int64_t count, const TierTotals& totals) {
  for (std::size_t tier = 0; tier < memoryTiers; ++tier) sum.bytes[tier] += count * totals.bytes[tier];
}

/// Which of the layers on the host are held: `held` of `all`, evenly.
class HeldLayers {
 public:
  HeldLayers(std::int64_t held, std::int64_t all) : m_held(std::min(held, all)), m_all(all) {}
  bool contains(std::int64_t layer) const { return before(layer + 1) > before(layer); }

 private:
  std::int64_t before(std::int64_t layer) const { return (layer * m_held + m_all / 2) / m_all; }
  std::int64_t m_held, m_all;
};

bool isTable(const BlockSpec& block) {
  return block.kind == BlockKind::Embedding || block.kind == BlockKind::Positions;
}
} // namespace

std::int64_t HomeCounts::streamed() const {
  std::int64_t sum = 0;
  for (std::size_t home = 0; home < unitHomes; ++home)
    if (streams(static_cast<UnitHome>(home))) sum += layers[home];
  return sum;
}

std::int64_t HomeCounts::onHost() const {
  return (*this)[UnitHome::Host] + (*this)[UnitHome::WeightsOnDevice];
}

HomeCounts countHomes(std::span<const UnitHome> homes) {
  HomeCounts counts;
  for (const UnitHome home : homes.first(homes.size() - 1)) ++counts[home];
  counts.head = homes.back();
  return counts;
}

MemoryLayout::MemoryLayout(const ModelSpec& spec, const RunShape& shape, std::shared_ptr<const ModelParts> parts)
    : m_spec(spec),
      m_shape(shape),
      m_parts(std::move(parts)),
      m_layer(spec, shape),
      m_head(spec, shape),
      m_rowGradients(spec, shape),
      m_batch(spec, shape) {
  for ([[maybe_unused]] const StreamUnit& unit : units())
    assert(unit.isHead() || unit.elements == units().front().elements); // or homes could not be counted
  visitActivations(ofEachDevice(m_shape, into(m_fixed)));
  for (std::size_t home = 0; home < unitHomes; ++home) {
    const auto unitHome = static_cast<UnitHome>(home);
    visitState(0, unitHome, false, into(m_layerTotals[home]));
    visitResident(0, unitHome, into(m_layerTotals[home]));
    visitState(units().size() - 1, unitHome, false, into(m_headTotals[home]));
    visitResident(units().size() - 1, unitHome, into(m_headTotals[home]));
    visitTables(unitHome, into(m_headTotals[home]));
    visitRows(unitHome, ofEachDevice(m_shape, into(m_headTotals[home])));
  }
  visitState(0, UnitHome::Host, true, into(m_held));
}

/// Whether the head multiplies by the block.
bool MemoryLayout::isHeadMatrix(std::size_t block) const {
  const std::vector<std::size_t>& head = units().back().blocks;
  return std::find(head.begin(), head.end(), block) != head.end();
}

Bytes MemoryLayout::updateBytes() const {
  return 8 + (m_shape.precision == Precision::Bf16 ? 2 : 0);
}

Bytes MemoryLayout::waitingBytes(BlockKind kind) const {
  if (waitsInFp32(kind) || m_shape.clip == ClipMode::Exact) return 4;
  return m_shape.clip == ClipMode::ExactBf16 ? 2 : 0;
}

/// State of a block in the tiers of its unit's home.
template <class Add>
void MemoryLayout::visitBlock(std::size_t index, UnitHome home, bool held, const Add& add) const {
  const BlockSpec& block = blocks()[index];
  const MemoryTier weights = home == UnitHome::Device ? Device : home == UnitHome::Disk ? Disk : Host;
  const MemoryTier update = home == UnitHome::Device ? Device : onDisk(home) ? Disk : Host;
  const auto plane = [&](Plane which, MemoryTier tier, MemoryCategory category, Bytes bytes) {
    add([&, which] { return name::plane(which, block); }, tier, category, block.elements * bytes);
  };
  plane(Plane::Weights, weights, MemoryCategory::Weights, m_shape.weightBytes());
  if (!m_shape.training) return;
  if (m_shape.precision == Precision::Bf16) plane(Plane::Remainder, update, MemoryCategory::Weights, 2);
  plane(Plane::Moment1, update, MemoryCategory::Moments, 4);
  plane(Plane::Moment2, update, MemoryCategory::Moments, 4);
  if (home == UnitHome::Device) { // a unit has its gradients in one piece; tables beside the head are no unit
    if (isTable(block) && !isHeadMatrix(index)) plane(Plane::Gradient, Device, MemoryCategory::GradientSlots, 4);
    return;
  }
  const Bytes waiting = held ? 4 : waitingBytes(block.kind);
  if (waiting > 0) plane(Plane::Gradient, weights, MemoryCategory::WaitingGradients, waiting);
  if (waiting < 4 && m_shape.group < m_shape.microBatches)
    plane(Plane::Partial, weights, MemoryCategory::WaitingGradients, 4);
}

template <class Add>
void MemoryLayout::visitTables(UnitHome head, const Add& add) const {
  for (std::size_t b = 0; b < blocks().size(); ++b)
    if (isTable(blocks()[b])) visitBlock(b, tablesHome(head), false, add);
}

template <class Add>
void MemoryLayout::visitState(std::size_t unit, UnitHome home, bool held, const Add& add) const {
  for (const std::size_t b : units()[unit].blocks)
    if (!isTable(blocks()[b])) visitBlock(b, home, held, add);
}

/// What the device has of a unit alone.
template <class Add>
void MemoryLayout::visitResident(std::size_t unit, UnitHome home, const Add& add) const {
  const StreamUnit& what = units()[unit];
  const auto index = static_cast<std::int64_t>(unit);
  const bool device = home == UnitHome::Device;
  if (home == UnitHome::WeightsOnDevice)
    add([&] { return name::residentWeights(index); }, Device, MemoryCategory::ResidentWeights,
        what.elements * m_shape.weightBytes());
  if (what.isHead() && streams(home))
    add([] { return name::headWeightSlot; }, Device, MemoryCategory::WeightSlots,
        what.elements * m_shape.weightBytes());
  if (!m_shape.training) return;
  if (device)
    add([&] { return name::residentGradients(index); }, Device, MemoryCategory::GradientSlots, what.elements * 4);
  if (device && !what.isHead() && m_shape.clip == ClipMode::ExactBf16)
    add([&] { return name::residentNarrowGradients(index); }, Device, MemoryCategory::GradientSlots, what.elements * 2);
  if (what.isHead() && !device)
    add([] { return name::headGradientSlot; }, Device, MemoryCategory::GradientSlots, what.elements * 4);
}

/// What layers stream through in turn.
template <class Add>
void MemoryLayout::visitSlots(const HomeCounts& counts, const Add& add) const {
  const std::int64_t elements = units().front().elements;
  const auto layers = static_cast<std::int64_t>(units().size()) - 1;
  for (int slot = 0; slot < std::min<std::int64_t>(m_shape.slots, counts.streamed()); ++slot)
    add([&] { return name::weightSlot(slot); }, Device, MemoryCategory::WeightSlots, elements * m_shape.weightBytes());
  if (!m_shape.training) return;
  for (int slot = 0; slot < std::min<std::int64_t>(2, layers - counts[UnitHome::Device]); ++slot) {
    add([&] { return name::gradientSlot(slot); }, Device, MemoryCategory::GradientSlots, elements * 4);
    if (m_shape.clip == ClipMode::ExactBf16)
      add([&] { return name::narrowGradientSlot(slot); }, Device, MemoryCategory::GradientSlots, elements * 2);
    if (m_shape.clip == ClipMode::Off || m_shape.devices > 1) // where several gradients meet
      add([&] { return name::landing(slot); }, Host, MemoryCategory::Staging, elements * 4);
  }
}

/// What the device updates for the host passes through these in pieces.
template <class Add>
void MemoryLayout::visitUpdateSlots(const HomeCounts& counts, const Add& add) const {
  const bool head =
      !m_spec.tiedEmbeddings && (counts.head == UnitHome::Host || counts.head == UnitHome::WeightsOnDevice);
  if (counts[UnitHome::Host] + counts[UnitHome::WeightsOnDevice] == 0 && !head) return;
  const std::int64_t elements = std::min(updatePiece, units().front().elements);
  for (int slot = 0; slot < m_shape.updateSlots; ++slot)
    add([&] { return name::updateSlot(slot); }, Device, MemoryCategory::UpdateSlots, elements * updateSlotBytes);
}

/// Buffers in host memory of blocks with planes on disk: weights on their way to the device, gradients on their way to
/// the disk and back between groups, state while AdamW works on it. Each is large enough for a piece of any of them.
template <class Add>
void MemoryLayout::visitDiskBuffers(const HomeCounts& counts, const Add& add) const {
  DiskBuffers weights, gradients, state;
  const auto take = [&](const StreamUnit& unit, UnitHome home, std::int64_t count) {
    if (count == 0 || !onDisk(home)) return;
    for (const std::size_t b : unit.blocks) {
      const BlockSpec& block = blocks()[b];
      if (isTable(block)) continue;
      const Bytes waiting = waitingBytes(block.kind);
      const bool all = home == UnitHome::Disk;
      state.take(count, block.elements, updateBytes() + (all ? m_shape.weightBytes() + waiting : 0));
      if (!all) continue;
      weights.take(count, block.elements, m_shape.weightBytes());
      gradients.take(count, block.elements, m_shape.group < m_shape.microBatches ? 4 : waiting);
    }
  };
  for (const UnitHome home : {UnitHome::MomentsOnDisk, UnitHome::Disk}) take(units().front(), home, counts[home]);
  take(units().back(), counts.head, 1);
  const auto buffers = [&](const DiskBuffers& what, std::string (*naming)(int)) {
    for (int i = 0; i < std::min<std::int64_t>(diskBuffers, what.pieces); ++i)
      add([&] { return naming(i); }, Host, MemoryCategory::Staging, what.bytes);
  };
  buffers(weights, &name::diskWeights);
  if (!m_shape.training) return;
  buffers(gradients, &name::diskGradients);
  buffers(state, &name::diskState);
}

template <class Add>
void MemoryLayout::visitActivations(const Add& add) const {
  const auto named = [&](const std::string& what, MemoryTier tier, MemoryCategory category, Bytes bytes) {
    add([&] { return what; }, tier, category, bytes);
  };
  // Without training a layer's input and output are all that ever exists.
  const auto layerCount = static_cast<std::int64_t>(m_spec.layers.size());
  const std::int64_t levels = m_shape.training ? layerCount : 2;
  const Bytes keptBytes =
      m_shape.group * (levels * m_layer.recordBytes() + (m_shape.training ? m_layer.inputBytes() : 0));
  if (m_shape.offloadActivations) {
    named(name::activations, Device, MemoryCategory::KeptActivations, m_shape.activationSlots * m_layer.recordBytes());
    named(name::offloaded, Host, MemoryCategory::OffloadedActivations, keptBytes);
  } else {
    named(name::activations, Device, MemoryCategory::KeptActivations, keptBytes);
  }
  const Bytes scalars = (1 + static_cast<Bytes>(blocks().size())) * 8;
  named(name::workspace, Device, MemoryCategory::Workspace,
        std::max({m_layer.workspaceBytes(), m_head.bytes, m_shape.training ? m_rowGradients.bytes : 0}));
  named(name::batch, Device, MemoryCategory::Batch, m_shape.group * m_batch.bytes);
  if (m_spec.rope)
    named(name::rope, Device, MemoryCategory::Tables,
          std::max(m_shape.context, m_shape.cacheTokens) * rotaryDim(*m_spec.rope, m_spec.attention.headDim) * 4);
  named(name::scalars, Device, MemoryCategory::Tables, scalars);
  if (m_shape.cacheTokens > 0)
    named(name::keyValueCache, Device, MemoryCategory::KeyValueCache,
          layerCount * alignUp(m_shape.rows * m_shape.cacheTokens * 2 * m_spec.attention.kvHeads *
                               m_spec.attention.headDim * bytesPerElement(m_shape.activationType())));

  named(name::stagedBatch, Host, MemoryCategory::Staging, m_shape.group * m_batch.bytes);
  named(name::stagedScalars, Host, MemoryCategory::Staging, scalars);
}

/// Rows of tables on the host on their way to the device, and their gradients on the way back. Where the tables are on
/// the device they are looked up and added to there.
template <class Add>
void MemoryLayout::visitRows(UnitHome head, const Add& add) const {
  const auto named = [&](const std::string& what, MemoryTier tier, MemoryCategory category, Bytes bytes) {
    add([&] { return what; }, tier, category, bytes);
  };
  const bool device = tablesHome(head) == UnitHome::Device;
  const std::int64_t ofStep = embeddingRowsOfStep(m_spec, m_shape);
  if (m_shape.training && m_spec.tiedEmbeddings)
    named(name::inputEmbeddingGradients, device ? Device : Host, MemoryCategory::WaitingGradients,
          ofStep * m_spec.hidden * 4);
  if (device) {
    if (!m_shape.training || !m_spec.tiedEmbeddings) return;
    named(name::stepRows, Device, MemoryCategory::Batch, ofStep * 4);
    named(name::stagedStepRows, Host, MemoryCategory::Staging, ofStep * 4);
    return;
  }
  const Bytes activation = bytesPerElement(m_shape.activationType());
  const Bytes rows = alignUp(embeddingRows(m_spec, m_shape) * m_spec.hidden * activation);
  const Bytes positionRows = m_spec.learnedPositions
                                 ? alignUp(std::max(m_shape.context, m_shape.cacheTokens) * m_spec.hidden * activation)
                                 : 0;
  named(name::embeddingRows, Device, MemoryCategory::EmbeddingRows, rows + positionRows);
  named(name::stagedRows, Host, MemoryCategory::Staging, rows + positionRows);
  if (m_shape.training) named(name::stagedRowGradients, Host, MemoryCategory::Staging, m_rowGradients.bytes);
}

TierTotals MemoryLayout::totals(const HomeCounts& counts) const {
  TierTotals totals = m_fixed;
  for (std::size_t home = 0; home < unitHomes; ++home) addTimes(totals, counts.layers[home], m_layerTotals[home]);
  addTimes(totals, 1, m_headTotals[static_cast<std::size_t>(counts.head)]);
  totals[Host] += counts.held * heldLayerBytes();
  visitSlots(counts, ofEachDevice(m_shape, into(totals)));
  visitUpdateSlots(counts, into(totals));
  visitDiskBuffers(counts, into(totals));
  return totals;
}

HomeCounts MemoryLayout::counts(std::span<const UnitHome> homes) const {
  HomeCounts counts = countHomes(homes);
  if (m_shape.clip == ClipMode::Off) counts.held = std::min(m_shape.heldLayers, counts.onHost());
  return counts;
}

MemoryPlan MemoryLayout::plan(std::vector<UnitHome> homes) const {
  MemoryPlan plan;
  plan.shape = m_shape;
  const auto add = [&](const auto& name, MemoryTier tier, MemoryCategory category, Bytes bytes) {
    if (bytes > 0) plan.allocations.push_back({name(), tier, category, alignUp(bytes)});
  };
  const HomeCounts counts = this->counts(homes);
  visitTables(counts.head, add);
  const HeldLayers held(counts.held, counts.onHost());
  std::int64_t onHost = 0;
  for (std::size_t u = 0; u < units().size(); ++u) {
    const bool candidate =
        !units()[u].isHead() && (homes[u] == UnitHome::Host || homes[u] == UnitHome::WeightsOnDevice);
    visitState(u, homes[u], candidate && held.contains(onHost++), add);
  }
  for (std::size_t u = 0; u < units().size(); ++u) visitResident(u, homes[u], add);
  visitSlots(counts, ofEachDevice(m_shape, add));
  visitUpdateSlots(counts, add);
  visitDiskBuffers(counts, add);
  visitActivations(ofEachDevice(m_shape, add));
  visitRows(counts.head, ofEachDevice(m_shape, add));
  plan.homes = std::move(homes);
  return plan;
}

} // namespace millrace
