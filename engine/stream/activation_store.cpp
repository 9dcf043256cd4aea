#include "stream/activation_store.h"

#include <algorithm>
#include <cassert>

namespace millrace {

ActivationStore::ActivationStore(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory,
                                 Streams& streams)
    : m_streams(streams),
      m_offload(plan.shape.offloadActivations),
      m_levels(plan.shape.training ? static_cast<std::int64_t>(spec.layers.size()) + 1 : 2),
      m_training(plan.shape.training),
      m_group(plan.shape.group) {
  const LayerLayout layout(spec, plan.shape);
  m_inputBytes = layout.inputBytes();
  m_recordBytes = layout.recordBytes();
  // The last level of a training run is an input and nothing else.
  const auto place = [&](std::byte* base, std::vector<std::byte*>& places) {
    for (std::int64_t level = 0; level < m_levels; ++level)
      for (std::int64_t m = 0; m < m_group; ++m) {
        places.push_back(base);
        base += plan.shape.training && level + 1 == m_levels ? m_inputBytes : m_recordBytes;
      }
  };
  std::byte* device = memory.data(allocation_name::activations);
  if (!m_offload) {
    place(device, m_records);
    return;
  }
  std::vector<std::byte*> homes;
  place(memory.data(allocation_name::offloaded), homes);
  for (std::byte* home : homes) m_homes.push_back({home, Event(), Event()});
  for (int i = 0; i < plan.shape.activationSlots; ++i) {
    m_slots.push_back({});
    m_slots.back().data = device + i * m_recordBytes;
  }
}

std::int64_t ActivationStore::index(std::int64_t level, std::int64_t microBatch) const {
  assert(microBatch < m_group);
  return level % m_levels * m_group + microBatch;
}

ActivationStore::Slot* ActivationStore::find(std::int64_t record) {
  for (Slot& slot : m_slots)
    if (slot.record == record) return &slot;
  return nullptr;
}

ActivationStore::Slot* ActivationStore::slotFor(std::int64_t record, bool mayTakeAwaited) {
  if (Slot* slot = find(record)) return slot;
  Slot* oldest = nullptr;
  for (Slot& slot : m_slots) {
    if (slot.users > 0 || (slot.awaited && !mayTakeAwaited)) continue;
    if (!oldest || slot.record < 0 || (oldest->record >= 0 && slot.usedAt < oldest->usedAt)) oldest = &slot;
  }
  if (!oldest) return nullptr;
  if (oldest->unsent) m_homes[static_cast<std::size_t>(oldest->record)].inputStored = send(*oldest, 0, m_inputBytes);
  oldest->unsent = false;
  oldest->record = record;
  oldest->hasInput = oldest->hasRest = oldest->awaited = false;
  return oldest;
}

Event ActivationStore::send(Slot& slot, Bytes offset, Bytes bytes) {
  Stream& copyOut = *m_streams.copyOut;
  copyOut.wait(slot.lastUse, Stall::Order);
  copyOut.copy(m_homes[static_cast<std::size_t>(slot.record)].data + offset, slot.data + offset, bytes);
  slot.sent = copyOut.record();
  return slot.sent;
}

void ActivationStore::fetch(Slot& slot, std::int64_t record, Part part) {
  Home& home = m_homes[static_cast<std::size_t>(record)];
  Stream& copyIn = *m_streams.copyIn;
  const bool input = !slot.hasInput;
  const bool rest = part == Part::Whole && !slot.hasRest && m_recordBytes > m_inputBytes;
  if (!input && !rest) return;
  copyIn.wait(slot.lastUse, Stall::Order);
  copyIn.wait(slot.sent, Stall::Order);
  if (input) {
    copyIn.wait(home.inputStored, Stall::Activations);
    copyIn.copy(slot.data, home.data, m_inputBytes);
  }
  if (rest) {
    copyIn.wait(home.restStored, Stall::Activations);
    copyIn.copy(slot.data + m_inputBytes, home.data + m_inputBytes, m_recordBytes - m_inputBytes);
  }
  slot.filled = copyIn.record();
  slot.hasInput = true;
  slot.hasRest = slot.hasRest || rest;
}

void ActivationStore::prefetch(std::int64_t level, std::int64_t microBatch, Part part) {
  if (!m_offload) return;
  const std::int64_t record = index(level, microBatch);
  Slot* slot = slotFor(record, false);
  if (!slot) return; // no room ahead: it is fetched when it is acquired
  slot->usedAt = ++m_clock;
  slot->awaited = true;
  fetch(*slot, record, part);
}

std::byte* ActivationStore::acquire(std::int64_t level, std::int64_t microBatch, Part part) {
  const std::int64_t record = index(level, microBatch);
  if (!m_offload) return m_records[static_cast<std::size_t>(record)];
  Slot* free = slotFor(record, true);
  assert(free && "more records in use at once than there are slots");
  Slot& slot = *free;
  ++slot.users;
  slot.awaited = false;
  slot.usedAt = ++m_clock;
  fetch(slot, record, part);
  m_streams.compute->wait(slot.filled, Stall::Activations);
  // The backward pass writes gradients in place of what it has read: a copy on its way home must be done.
  if (part == Part::Whole) m_streams.compute->wait(slot.sent, Stall::Activations);
  return slot.data;
}

std::byte* ActivationStore::create(std::int64_t level, std::int64_t microBatch) {
  const std::int64_t record = index(level, microBatch);
  if (!m_offload) return m_records[static_cast<std::size_t>(record)];
  Slot* free = slotFor(record, true);
  assert(free && "more records in use at once than there are slots");
  Slot& slot = *free;
  ++slot.users;
  slot.awaited = false;
  slot.usedAt = ++m_clock;
  // Compute runs in order, so only copies can still be using the slot.
  m_streams.compute->wait(slot.sent, Stall::Activations);
  m_streams.compute->wait(slot.filled, Stall::Activations);
  slot.hasInput = true;
  slot.hasRest = false;
  return slot.data;
}

void ActivationStore::release(std::int64_t level, std::int64_t microBatch, Written written) {
  if (!m_offload) return;
  const std::int64_t record = index(level, microBatch);
  Slot& slot = *find(record);
  --slot.users;
  slot.lastUse = m_streams.compute->record();
  if (written == Written::Nothing) return;
  Home& home = m_homes[static_cast<std::size_t>(record)];
  if (written == Written::Rest) {
    slot.hasRest = true;
    if (m_recordBytes > m_inputBytes) home.restStored = send(slot, m_inputBytes, m_recordBytes - m_inputBytes);
  } else if (m_training && level + 1 == m_levels) {
    slot.unsent = true;
  } else {
    home.inputStored = send(slot, 0, m_inputBytes);
  }
}

void ActivationStore::drop(std::int64_t level, std::int64_t microBatch) {
  if (!m_offload) return;
  const std::int64_t record = index(level, microBatch);
  Slot& slot = *find(record);
  --slot.users;
  slot.lastUse = m_streams.compute->record();
  slot.record = -1;
  slot.hasInput = slot.hasRest = slot.unsent = false;
}

} // namespace millrace
