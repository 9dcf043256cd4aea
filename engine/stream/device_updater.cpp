#include "stream/device_updater.h"

#include "ops/adamw.h"

#include <algorithm>
#include <cassert>

namespace millrace {

namespace {

/// Whole operands stay aligned in a slot.
std::int64_t pieceElementsOf(Bytes slotBytes) {
  constexpr std::int64_t step = operandAlignment;
  return std::max<std::int64_t>(step, slotBytes / updateSlotBytes / step * step);
}

} // namespace

DeviceUpdater::DeviceUpdater(Device& device, const MemoryPlan& plan, const PlannedMemory& memory)
    : m_pieceElements(pieceElementsOf(memory.bytes(allocation_name::updateSlot(0)))),
      m_in(device.createStream("update-in")),
      m_compute(device.createStream("update")),
      m_out(device.createStream("update-out")),
      m_join(device.createStream("update-join")) {
  for (int slot = 0; slot < plan.shape.updateSlots; ++slot)
    m_slots.push_back({memory.data(allocation_name::updateSlot(slot)), Event()});
}

void DeviceUpdater::updatePiece(const AdamWArgs& piece) {
  Slot& slot = m_slots[m_next];
  m_next = (m_next + 1) % m_slots.size();
  m_in->wait(slot.home, Stall::Order);
  AdamWArgs there = piece;
  Bytes at = 0;
  for (TensorView AdamWArgs::*const plane : ops::adamWOperands()) { // in the order in which they lie in a slot
    const TensorView& source = piece.*plane;
    if (!source.valid()) continue;
    (there.*plane).data = slot.data + at;
    at += m_pieceElements * bytesPerElement(source.dtype);
    m_in->copy((there.*plane).data, source.data, source.bytes());
  }
  m_compute->wait(m_in->record(), Stall::Weights);
  ops::adamW(*m_compute, there);
  m_out->wait(m_compute->record(), Stall::Order);
  for (TensorView AdamWArgs::*const plane : ops::adamWOperands())
    if ((piece.*plane).valid() && plane != &AdamWArgs::gradient)
      m_out->copy((piece.*plane).data, (there.*plane).data, (piece.*plane).bytes());
  slot.home = m_out->record();
}

Event DeviceUpdater::update(const Event& landed, const std::vector<AdamWArgs>& ranges) {
  m_in->wait(landed, Stall::Gradients);
  for (const AdamWArgs& range : ranges)
    for (std::int64_t first = 0; first < range.m.shape[0]; first += m_pieceElements)
      updatePiece(ops::rangeOf(range, first, std::min(m_pieceElements, range.m.shape[0] - first)));
  return m_out->record();
}

Event DeviceUpdater::join(const Event& one, const Event& other) {
  m_join->wait(one, Stall::Order);
  m_join->wait(other, Stall::Order);
  return m_join->record();
}

} // namespace millrace
