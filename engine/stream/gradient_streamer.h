// GradientStreamer: fp32 accumulators on the device, one unit at a time, and their way home, to host memory or the
// disk: zeroed or brought back when a unit's backward begins, normed and sent out when it ends. One submitting thread;
// nothing here blocks it.
#pragma once

#include "plan/stream_unit.h"
#include "storage/tensor_store.h"
#include "stream/streams.h"

#include <vector>

namespace millrace {

class GradientStreamer {
 public:
  /// squares: one fp64 per block on the device, where sums of squares are left.
  GradientStreamer(const MemoryPlan& plan, const PlannedMemory& memory, const TensorStore& store, Streams& streams,
                   TensorView squares);

  /// Accumulators of the unit's blocks, fp32, for work on the compute stream until finish(). firstGroup: they start at
  /// zero, else at the sums that finish() sent out before.
  std::vector<TensorView> begin(std::size_t unit, bool firstGroup);

  /// What became of a block's gradient after the last group.
  struct Landed {
    std::size_t block = 0;
    TensorView gradient; ///< where AdamW finds it: host or device memory; without memory: its plane on disk
    Event event;         ///< when
    int slot = -1;       ///< for landingBusyUntil(); -1: none
  };
  /// Sends the unit's sums out. lastGroup: norms first (blocks in tied embeddings are normed by the caller, who adds to
  /// them), and the result says where each block's gradient lands; between groups it is empty.
  std::vector<Landed> finish(std::size_t unit, bool lastGroup);

  /// With clipping off a landing buffer is free again when the update that reads it is done. Nothing to do for a block
  /// that did not come through a slot.
  void landingBusyUntil(const Landed& landed, Event done) {
    if (landed.slot >= 0) m_slots[static_cast<std::size_t>(landed.slot)].landingFree = std::move(done);
  }

 private:
  struct Slot {
    std::byte* data = nullptr;
    std::byte* narrow = nullptr;  ///< bf16 copy on its way out, clip exact-bf16
    std::byte* landing = nullptr; ///< host, clip off
    std::vector<Event> sent;      ///< the last copies out of it
    Event landingFree;
  };
  Slot& slotFor(std::size_t unit);
  /// To host memory, or where the target has none to its range on disk; when compute is done with the source, which is
  /// in the slot, and the block's last update with the target. The event: it is there.
  Event send(std::size_t block, const TensorView& source, const TensorView& target, std::optional<std::size_t> range,
             Slot& slot);

  const RunShape m_shape;
  const TensorStore& m_store;
  Streams& m_streams;
  const TensorView m_squares;
  const std::vector<StreamUnit> m_units;
  const std::vector<UnitHome> m_homes;
  std::vector<Slot> m_slots;  ///< shared ones first, then those of single units
  std::vector<int> m_ownSlot; ///< per unit; -1: shares
  int m_sharedSlots = 0;
  int m_next = 0;
  std::vector<int> m_current;       ///< per unit: the slot between begin() and finish()
  std::vector<Event> m_partialHome; ///< per block: the sums of the groups before are at home
};

} // namespace millrace
