// LayerStreamer: brings the weights of stream units to the device just in time and hands them out as leases. Two or
// three slots are filled in turn while another is computed with; units that live on the device are handed out where
// they are. One submitting thread; nothing here blocks it.
#pragma once

#include "plan/stream_unit.h"
#include "storage/tensor_store.h"
#include "stream/streams.h"

#include <vector>

namespace millrace {

class LayerStreamer;

/// Weights of one unit, in place on the device for work submitted to the compute stream while the lease lives. Its end
/// records the event after which the slot may be overwritten. Move-only.
class LayerLease {
 public:
  LayerLease(LayerLease&& other) noexcept;
  LayerLease& operator=(LayerLease&&) = delete;
  ~LayerLease();

  /// The weights of the unit's i-th block, all elements.
  TensorView block(std::size_t i) const { return m_blocks[i]; }

 private:
  friend class LayerStreamer;
  LayerLease(LayerStreamer& streamer, int slot, std::vector<TensorView> blocks);

  LayerStreamer* m_streamer;
  int m_slot; ///< -1: nothing to give back
  std::vector<TensorView> m_blocks;
};

class LayerStreamer {
 public:
  LayerStreamer(const MemoryPlan& plan, const PlannedMemory& memory, const TensorStore& store, Streams& streams);

  const std::vector<StreamUnit>& units() const { return m_units; }
  UnitHome home(std::size_t unit) const { return m_homes[unit]; }

  /// Starts bringing the unit's current version to the device, if it is not there: copy-in waits for the slot's last
  /// use and for the blocks' updates. At most slots - 1 units ahead of the leased one.
  void prefetch(std::size_t unit);
  /// The unit's current version; compute waits for the copy. Prefetches first where that was not done.
  LayerLease acquire(std::size_t unit);

 private:
  friend class LayerLease;
  struct Slot {
    std::byte* data = nullptr;
    std::int64_t unit = -1;
    std::vector<std::int64_t> versions; ///< of the unit's blocks
    Event copied;
    Event lastUse;
    int leases = 0;
    std::int64_t usedAt = 0;
  };
  bool holds(const Slot& slot, std::size_t unit) const;
  int slotFor(std::size_t unit);
  void release(int slot);

  const TensorStore& m_store;
  Streams& m_streams;
  std::vector<StreamUnit> m_units;
  std::vector<UnitHome> m_homes;
  std::vector<Slot> m_slots;  ///< shared ones first, then those of single units
  std::vector<int> m_ownSlot; ///< per unit; -1: shares
  int m_sharedSlots = 0;
  std::int64_t m_clock = 0;
};

} // namespace millrace
