#include "plan/memory_layout.h"

#include "model/rope_table.h"

#include <algorithm>

namespace millrace {

namespace {
namespace name = allocation_name;
using enum MemoryTier;

/// Units that are read from disk, or updated there, at one time; each has its buffers in host memory.
constexpr int diskBuffers = 3;
} // namespace

MemoryLayout::MemoryLayout(const ModelSpec& spec, const RunShape& shape)
    : m_spec(spec),
      m_shape(shape),
      m_blocks(blocksOf(spec)),
      m_units(unitsOf(m_blocks)),
      m_layer(spec, shape),
      m_head(spec, shape),
      m_rowGradients(spec, shape),
      m_batch(spec, shape) {}

Bytes MemoryLayout::updateBytes() const {
  return 8 + (m_shape.precision == Precision::Bf16 ? 2 : 0);
}

Bytes MemoryLayout::waitingBytes(BlockKind kind) const {
  if (waitsInFp32(kind) || m_shape.clip == ClipMode::Exact) return 4;
  return m_shape.clip == ClipMode::ExactBf16 ? 2 : 0;
}

template <class Add>
void MemoryLayout::visit(std::span<const UnitHome> homes, const Add& add) const {
  visitState(homes, add);
  // What devices have on the host, each its own.
  const auto each = [&](const auto& name, MemoryTier tier, MemoryCategory category, Bytes bytes) {
    add(name, tier, category, tier == Host ? bytes * m_shape.devices : bytes);
  };
  visitUnits(homes, each);
  if (std::any_of(homes.begin(), homes.end(), onDisk)) visitDiskBuffers(homes, add);
  visitActivations(each);
}

/// State of every block, in the tiers of its unit. Embedding tables stay on the host: their rows are gathered there.
template <class Add>
void MemoryLayout::visitState(std::span<const UnitHome> homes, const Add& add) const {
  const auto ofBlock = [&](std::size_t b, UnitHome home) {
    const BlockSpec& block = m_blocks[b];
    if (block.kind == BlockKind::Embedding || block.kind == BlockKind::Positions) home = UnitHome::Host;
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
    if (home == UnitHome::Device) return;
    const Bytes waiting = waitingBytes(block.kind);
    if (waiting > 0) plane(Plane::Gradient, weights, MemoryCategory::WaitingGradients, waiting);
    if (waiting < 4 && m_shape.group < m_shape.microBatches)
      plane(Plane::Partial, weights, MemoryCategory::WaitingGradients, 4);
  };
  // Blocks in forward order: what is before the layers, the units, and so on. A tied matrix is the first block.
  std::vector<UnitHome> home(m_blocks.size(), UnitHome::Host);
  for (std::size_t u = 0; u < m_units.size(); ++u)
    for (const std::size_t b : m_units[u].blocks) home[b] = homes[u];
  for (std::size_t b = 0; b < m_blocks.size(); ++b) ofBlock(b, home[b]);
}

/// What units stream through, and what of them stays on the device.
template <class Add>
void MemoryLayout::visitUnits(std::span<const UnitHome> homes, const Add& add) const {
  std::int64_t layerElements = 0;
  std::int64_t streamedLayers = 0;
  std::int64_t gradientLayers = 0;
  for (std::size_t u = 0; u < m_units.size(); ++u) {
    const StreamUnit& unit = m_units[u];
    const UnitHome home = homes[u];
    const auto index = static_cast<std::int64_t>(u);
    if (home == UnitHome::WeightsOnDevice)
      add([&] { return name::residentWeights(index); }, Device, MemoryCategory::ResidentWeights,
          unit.elements * m_shape.weightBytes());
    if (home == UnitHome::Device && m_shape.training)
      add([&] { return name::residentGradients(index); }, Device, MemoryCategory::GradientSlots, unit.elements * 4);
    if (home == UnitHome::Device && m_shape.training && !unit.isHead() && m_shape.clip == ClipMode::ExactBf16)
      add([&] { return name::residentNarrowGradients(index); }, Device, MemoryCategory::GradientSlots,
          unit.elements * 2);
    if (unit.isHead()) {
      if (streams(home))
        add([] { return name::headWeightSlot; }, Device, MemoryCategory::WeightSlots,
            unit.elements * m_shape.weightBytes());
      if (home != UnitHome::Device && m_shape.training)
        add([] { return name::headGradientSlot; }, Device, MemoryCategory::GradientSlots, unit.elements * 4);
    } else {
      layerElements = std::max(layerElements, unit.elements);
      streamedLayers += streams(home) ? 1 : 0;
      gradientLayers += home != UnitHome::Device ? 1 : 0;
    }
  }
  for (int slot = 0; slot < std::min<std::int64_t>(m_shape.slots, streamedLayers); ++slot)
    add([&] { return name::weightSlot(slot); }, Device, MemoryCategory::WeightSlots,
        layerElements * m_shape.weightBytes());
  if (!m_shape.training) return;
  for (int slot = 0; slot < std::min<std::int64_t>(2, gradientLayers); ++slot) {
    add([&] { return name::gradientSlot(slot); }, Device, MemoryCategory::GradientSlots, layerElements * 4);
    if (m_shape.clip == ClipMode::ExactBf16)
      add([&] { return name::narrowGradientSlot(slot); }, Device, MemoryCategory::GradientSlots, layerElements * 2);
    if (m_shape.clip == ClipMode::Off || m_shape.devices > 1) // where several gradients meet
      add([&] { return name::landing(slot); }, Host, MemoryCategory::Staging, layerElements * 4);
  }
}

/// Buffers in host memory of units with planes on disk: weights on their way to the device, gradients on their way
/// to the disk, state while AdamW works on it.
template <class Add>
void MemoryLayout::visitDiskBuffers(std::span<const UnitHome> homes, const Add& add) const {
  std::int64_t streamed = 0, streamedElements = 0, updated = 0;
  Bytes state = 0;
  for (std::size_t u = 0; u < m_units.size(); ++u) {
    if (!onDisk(homes[u])) continue;
    ++updated;
    const bool all = homes[u] == UnitHome::Disk;
    const Bytes waiting = waitingBytes(m_units[u].isHead() ? BlockKind::Head : BlockKind::Mlp);
    state = std::max(state, m_units[u].elements * (updateBytes() + (all ? m_shape.weightBytes() + waiting : 0)));
    streamed += all ? 1 : 0;
    if (all) streamedElements = std::max(streamedElements, m_units[u].elements);
  }
  for (int i = 0; i < std::min<std::int64_t>(diskBuffers, streamed); ++i) {
    add([&] { return name::diskWeights(i); }, Host, MemoryCategory::Staging, streamedElements * m_shape.weightBytes());
    if (m_shape.training && m_shape.clip != ClipMode::Off)
      add([&] { return name::diskGradients(i); }, Host, MemoryCategory::Staging, streamedElements * 4);
  }
  if (!m_shape.training) return;
  for (int i = 0; i < std::min<std::int64_t>(diskBuffers, updated); ++i)
    add([&] { return name::diskState(i); }, Host, MemoryCategory::Staging, state);
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
  const Bytes activation = bytesPerElement(m_shape.activationType());
  const Bytes rows = alignUp(embeddingRows(m_spec, m_shape) * m_spec.hidden * activation);
  const Bytes positionRows = m_spec.learnedPositions
                                 ? alignUp(std::max(m_shape.context, m_shape.cacheTokens) * m_spec.hidden * activation)
                                 : 0;
  const Bytes scalars = (1 + static_cast<Bytes>(m_blocks.size())) * 8;
  named(name::workspace, Device, MemoryCategory::Workspace,
        std::max({m_layer.workspaceBytes(), m_head.bytes, m_shape.training ? m_rowGradients.bytes : 0}));
  named(name::embeddingRows, Device, MemoryCategory::EmbeddingRows, rows + positionRows);
  named(name::batch, Device, MemoryCategory::Batch, m_shape.group * m_batch.bytes);
  if (m_spec.rope)
    named(name::rope, Device, MemoryCategory::Tables,
          std::max(m_shape.context, m_shape.cacheTokens) * rotaryDim(*m_spec.rope, m_spec.attention.headDim) * 4);
  named(name::scalars, Device, MemoryCategory::Tables, scalars);
  if (m_shape.cacheTokens > 0)
    named(name::keyValueCache, Device, MemoryCategory::KeyValueCache,
          layerCount * alignUp(m_shape.rows * m_shape.cacheTokens * 2 * m_spec.attention.kvHeads *
                               m_spec.attention.headDim * activation));

  named(name::stagedRows, Host, MemoryCategory::Staging, rows + positionRows);
  named(name::stagedBatch, Host, MemoryCategory::Staging, m_shape.group * m_batch.bytes);
  named(name::stagedScalars, Host, MemoryCategory::Staging, scalars);
  if (!m_shape.training) return;
  named(name::stagedRowGradients, Host, MemoryCategory::Staging, m_rowGradients.bytes);
  if (m_spec.tiedEmbeddings)
    named(name::inputEmbeddingGradients, Host, MemoryCategory::WaitingGradients,
          std::min(m_spec.vocabulary, m_shape.tokens() * m_shape.microBatches) * m_spec.hidden * 4);
}

TierTotals MemoryLayout::totals(std::span<const UnitHome> homes) const {
  TierTotals totals;
  visit(homes, [&](const auto&, MemoryTier tier, MemoryCategory, Bytes bytes) { totals[tier] += alignUp(bytes); });
  return totals;
}

MemoryPlan MemoryLayout::plan(std::vector<UnitHome> homes) const {
  MemoryPlan plan;
  plan.shape = m_shape;
  visit(homes, [&](const auto& name, MemoryTier tier, MemoryCategory category, Bytes bytes) {
    if (bytes > 0) plan.allocations.push_back({name(), tier, category, alignUp(bytes)});
  });
  plan.homes = std::move(homes);
  return plan;
}

} // namespace millrace
