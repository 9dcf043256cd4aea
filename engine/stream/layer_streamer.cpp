#include "stream/layer_streamer.h"

#include <cassert>

namespace millrace {

LayerLease::LayerLease(LayerStreamer& streamer, int slot, std::vector<TensorView> blocks)
    : m_streamer(&streamer), m_slot(slot), m_blocks(std::move(blocks)) {}

LayerLease::LayerLease(LayerLease&& other) noexcept
    : m_streamer(other.m_streamer), m_slot(other.m_slot), m_blocks(std::move(other.m_blocks)) {
  other.m_slot = -1;
}

LayerLease::~LayerLease() {
  if (m_slot >= 0) m_streamer->release(m_slot);
}

LayerStreamer::LayerStreamer(const MemoryPlan& plan, const PlannedMemory& memory, const TensorStore& store,
                             Streams& streams)
    : m_store(store),
      m_streams(streams),
      m_units(unitsOf(store.blocks())),
      m_homes(plan.homes),
      m_ownSlot(m_units.size(), -1) {
  namespace name = allocation_name;
  for (int i = 0; memory.has(name::weightSlot(i)); ++i) {
    m_slots.push_back({});
    m_slots.back().data = memory.data(name::weightSlot(i));
  }
  m_sharedSlots = static_cast<int>(m_slots.size());
  for (std::size_t u = 0; u < m_units.size(); ++u) {
    const std::string own = m_units[u].isHead() && millrace::streams(m_homes[u])
                                ? name::headWeightSlot
                                : name::residentWeights(static_cast<std::int64_t>(u));
    if (!memory.has(own)) continue;
    m_ownSlot[u] = static_cast<int>(m_slots.size());
    m_slots.push_back({});
    m_slots.back().data = memory.data(own);
  }
}

bool LayerStreamer::holds(const Slot& slot, std::size_t unit) const {
  if (slot.unit != static_cast<std::int64_t>(unit)) return false;
  for (std::size_t i = 0; i < slot.versions.size(); ++i)
    if (slot.versions[i] != m_store.version(m_units[unit].blocks[i])) return false;
  return true;
}

int LayerStreamer::slotFor(std::size_t unit) {
  if (m_ownSlot[unit] >= 0) return m_ownSlot[unit];
  int oldest = -1;
  for (int i = 0; i < m_sharedSlots; ++i) {
    const Slot& slot = m_slots[static_cast<std::size_t>(i)];
    if (slot.unit == static_cast<std::int64_t>(unit)) return i; // a stale version is overwritten where it is
    if (slot.leases == 0 && (oldest < 0 || slot.usedAt < m_slots[static_cast<std::size_t>(oldest)].usedAt)) oldest = i;
  }
  assert(oldest >= 0 && "more units leased or prefetched at once than there are slots");
  return oldest;
}

void LayerStreamer::prefetch(std::size_t unit) {
  if (m_homes[unit] == UnitHome::Device) return;
  Slot& slot = m_slots[static_cast<std::size_t>(slotFor(unit))];
  slot.usedAt = ++m_clock;
  if (holds(slot, unit)) return;
  assert(slot.leases == 0);
  const StreamUnit& what = m_units[unit];
  // A unit comes in through one stream, also where a part of it (a tied matrix) is in memory.
  const bool fromDisk = m_store.diskRange(what.blocks.front(), Plane::Weights).has_value();
  Stream& copyIn = fromDisk ? m_streams.diskWeights->in() : *m_streams.copyIn;
  copyIn.wait(slot.lastUse, Stall::Order);
  slot.unit = static_cast<std::int64_t>(unit);
  slot.versions.clear();
  for (std::size_t i = 0; i < what.blocks.size(); ++i) {
    const std::size_t block = what.blocks[i];
    const TensorView weights = m_store.plane(block, Plane::Weights);
    std::byte* target = slot.data + what.offsets[i] * bytesPerElement(weights.dtype);
    if (const auto range = m_store.diskRange(block, Plane::Weights)) {
      m_streams.diskWeights->read(*range, m_store.ready(block), target, weights.bytes());
    } else {
      copyIn.wait(m_store.ready(block), Stall::Optimizer);
      copyIn.copy(target, weights.data, weights.bytes());
    }
    slot.versions.push_back(m_store.version(block));
  }
  slot.copied = copyIn.record();
}

LayerLease LayerStreamer::acquire(std::size_t unit) {
  const StreamUnit& what = m_units[unit];
  std::vector<TensorView> views;
  if (m_homes[unit] == UnitHome::Device) {
    for (const std::size_t block : what.blocks) {
      m_streams.compute->wait(m_store.ready(block), Stall::Optimizer);
      views.push_back(m_store.plane(block, Plane::Weights));
    }
    return LayerLease(*this, -1, std::move(views));
  }
  prefetch(unit);
  const int index = slotFor(unit);
  Slot& slot = m_slots[static_cast<std::size_t>(index)];
  m_streams.compute->wait(slot.copied, Stall::Weights);
  ++slot.leases;
  for (std::size_t i = 0; i < what.blocks.size(); ++i) {
    const TensorView weights = m_store.plane(what.blocks[i], Plane::Weights);
    views.emplace_back(slot.data + what.offsets[i] * bytesPerElement(weights.dtype), weights.dtype, weights.shape);
  }
  return LayerLease(*this, index, std::move(views));
}

void LayerStreamer::release(int index) {
  Slot& slot = m_slots[static_cast<std::size_t>(index)];
  --slot.leases;
  slot.lastUse = m_streams.compute->record();
}

} // namespace millrace
