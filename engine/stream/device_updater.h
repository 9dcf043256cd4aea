// DeviceUpdater: AdamW on the device for state that lives in host memory. While forward would wait for the host's AdamW
// the bus is nearly idle, so a share of every block comes in piece by piece, is updated and goes home again, on streams
// of its own. One submitting thread; nothing here blocks it.
#pragma once

#include "device/device.h"
#include "device/kernels.h"
#include "plan/memory_plan.h"
#include "storage/planned_memory.h"

#include <memory>
#include <vector>

namespace millrace {

class DeviceUpdater {
 public:
  /// The plan must have update slots.
  DeviceUpdater(Device& device, const MemoryPlan& plan, const PlannedMemory& memory);

  /// Updates the ranges, which are in host memory, once their gradient has landed. The event: they are home again.
  Event update(const Event& landed, const std::vector<AdamWArgs>& ranges);
  /// Happens when both have.
  Event join(const Event& one, const Event& other);

  /// Of the streams that bring state in and take it home.
  StreamUse useIn() const { return m_in->use(); }
  StreamUse useOut() const { return m_out->use(); }

 private:
  struct Slot {
    std::byte* data = nullptr;
    Event home; ///< what was in it has left
  };
  void updatePiece(const AdamWArgs& piece);

  const std::int64_t m_pieceElements;
  std::vector<Slot> m_slots;
  std::size_t m_next = 0;
  std::unique_ptr<Stream> m_in, m_compute, m_out, m_join;
};

} // namespace millrace
