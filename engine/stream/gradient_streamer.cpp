#include "stream/gradient_streamer.h"

#include "ops/ops.h"

#include <cassert>

namespace millrace {

GradientStreamer::GradientStreamer(const MemoryPlan& plan, const PlannedMemory& memory, const TensorStore& store,
                                   Streams& streams, TensorView squares)
    : m_shape(plan.shape),
      m_store(store),
      m_streams(streams),
      m_squares(squares),
      m_units(unitsOf(store.blocks())),
      m_homes(plan.homes),
      m_ownSlot(m_units.size(), -1),
      m_current(m_units.size(), -1),
      m_partialHome(store.blocks().size()) {
  namespace name = allocation_name;
  const auto dataOf = [&](const std::string& what) { return memory.has(what) ? memory.data(what) : nullptr; };
  for (int i = 0; memory.has(name::gradientSlot(i)); ++i) {
    Slot slot;
    slot.data = memory.data(name::gradientSlot(i));
    slot.narrow = dataOf(name::narrowGradientSlot(i));
    slot.landing = dataOf(name::landing(i));
    m_slots.push_back(std::move(slot));
  }
  m_sharedSlots = static_cast<int>(m_slots.size());
  for (std::size_t u = 0; u < m_units.size(); ++u) {
    const bool device = m_homes[u] == UnitHome::Device;
    if (!device && !m_units[u].isHead()) continue;
    m_ownSlot[u] = static_cast<int>(m_slots.size());
    Slot slot;
    slot.data = memory.data(device ? name::residentGradients(static_cast<std::int64_t>(u)) : name::headGradientSlot);
    slot.narrow = dataOf(name::residentNarrowGradients(static_cast<std::int64_t>(u)));
    m_slots.push_back(std::move(slot));
  }
}

GradientStreamer::Slot& GradientStreamer::slotFor(std::size_t unit) {
  if (m_current[unit] < 0) {
    m_current[unit] = m_ownSlot[unit] >= 0 ? m_ownSlot[unit] : m_next;
    if (m_ownSlot[unit] < 0) m_next = (m_next + 1) % m_sharedSlots;
  }
  return m_slots[static_cast<std::size_t>(m_current[unit])];
}

std::vector<TensorView> GradientStreamer::begin(std::size_t unit, bool firstGroup) {
  const StreamUnit& what = m_units[unit];
  Slot& slot = slotFor(unit);
  std::vector<TensorView> accumulators;
  for (std::size_t i = 0; i < what.blocks.size(); ++i)
    accumulators.emplace_back(slot.data + what.offsets[i] * 4, DType::F32,
                              Shape{m_store.blocks()[what.blocks[i]].elements});
  if (firstGroup) {
    for (const Event& sent : slot.sent) m_streams.compute->wait(sent, Stall::Gradients);
    for (const TensorView& accumulator : accumulators) m_streams.compute->zero(accumulator.data, accumulator.bytes());
  } else if (m_homes[unit] != UnitHome::Device) {
    for (std::size_t i = 0; i < what.blocks.size(); ++i) {
      const std::size_t block = what.blocks[i];
      const Plane which = m_store.plane(block, Plane::Partial).shape.rank() > 0 ? Plane::Partial : Plane::Gradient;
      const std::optional<std::size_t> range = m_store.diskRange(block, which);
      Stream& in = range ? m_streams.diskGradients->in() : *m_streams.copyIn;
      for (const Event& sent : slot.sent) in.wait(sent, Stall::Gradients);
      if (range) {
        m_streams.diskGradients->read(*range, m_partialHome[block], accumulators[i].data, accumulators[i].bytes());
      } else {
        in.wait(m_partialHome[block], Stall::Gradients);
        in.copy(accumulators[i].data, m_store.plane(block, which).data, accumulators[i].bytes());
      }
      m_streams.compute->wait(in.record(), Stall::Gradients);
    }
  }
  return accumulators;
}

Event GradientStreamer::send(std::size_t block, const TensorView& source, const TensorView& target,
                             std::optional<std::size_t> range, Slot& slot) {
  Stream& out = range ? m_streams.diskGradients->out() : *m_streams.copyOut;
  // The block's last update reads the same plane; with clipping on it is done before this step's forward used the
  // block.
  out.wait(m_store.ready(block), Stall::Optimizer);
  out.wait(m_streams.compute->record(), Stall::Order);
  if (!range) {
    out.copy(target.data, source.data, source.bytes());
    slot.sent.push_back(out.record());
    return slot.sent.back();
  }
  Event written = m_streams.diskGradients->write(*range, source.data, source.bytes());
  slot.sent.push_back(out.record());
  return written;
}

std::vector<GradientStreamer::Landed> GradientStreamer::finish(std::size_t unit, bool lastGroup) {
  const StreamUnit& what = m_units[unit];
  Slot& slot = slotFor(unit);
  const int slotIndex = m_current[unit];
  m_current[unit] = -1;
  const bool device = m_homes[unit] == UnitHome::Device;
  if (device && !lastGroup) return {};
  Stream& compute = *m_streams.compute;
  std::vector<Landed> landed;
  slot.sent.clear();
  for (std::size_t i = 0; i < what.blocks.size(); ++i) {
    const std::size_t block = what.blocks[i];
    const TensorView sums(slot.data + what.offsets[i] * 4, DType::F32, Shape{m_store.blocks()[block].elements});
    if (lastGroup && m_store.blocks()[block].kind != BlockKind::Embedding)
      ops::sumOfSquares(compute, {.x = sums, .sum = m_squares.rows(static_cast<std::int64_t>(block), 1)});
    TensorView source = sums;
    if (lastGroup && m_shape.clip == ClipMode::ExactBf16 && !waitsInFp32(m_store.blocks()[block].kind)) {
      source = TensorView(slot.narrow + what.offsets[i] * 2, DType::BF16, sums.shape);
      ops::convert(compute, {.x = sums, .y = source});
    }
    if (device) {
      landed.push_back({block, source, Event(), slotIndex});
      continue;
    }
    const bool waits = m_store.plane(block, Plane::Gradient).shape.rank() > 0;
    const bool summed = !lastGroup && m_store.plane(block, Plane::Partial).shape.rank() > 0;
    const Plane which = summed ? Plane::Partial : Plane::Gradient;
    TensorView home = m_store.plane(block, which);
    if (home.shape.rank() == 0) { // the update that reads it follows at once
      home = TensorView(slot.landing + what.offsets[i] * 4, DType::F32, sums.shape);
      m_streams.copyOut->wait(slot.landingFree, Stall::Optimizer);
    }
    const Event there = send(block, source, home, m_store.diskRange(block, which), slot);
    if (lastGroup)
      landed.push_back({block, home, there, waits ? -1 : slotIndex});
    else
      m_partialHome[block] = there;
  }
  return landed;
}

} // namespace millrace
