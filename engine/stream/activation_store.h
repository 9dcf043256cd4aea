// ActivationStore: what forward keeps for backward, one record per (level, micro-batch). Level l is the input of layer
// l and what that layer keeps; the last level is the input of the head, whose record carries the gradient through
// backward. Either every record has its own device memory, or a few device slots hold those in use while the others are
// in host memory (offloaded); the results are the same bits. One submitting thread; nothing here blocks it.
#pragma once

#include "plan/layer_layout.h"
#include "plan/memory_plan.h"
#include "storage/planned_memory.h"
#include "stream/streams.h"

#include <vector>

namespace millrace {

class ActivationStore {
 public:
  /// The parts of a record: the layer's input, and the rest that the policy keeps.
  enum class Part { Input, Whole };

  ActivationStore(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory, Streams& streams);

  /// Starts bringing an offloaded record to the device.
  void prefetch(std::int64_t level, std::int64_t microBatch, Part part);
  /// The record in device memory, its part readable by work submitted to compute from now on, until release().
  std::byte* acquire(std::int64_t level, std::int64_t microBatch, Part part);
  /// Device memory for a record that is about to be computed.
  std::byte* create(std::int64_t level, std::int64_t microBatch);
  /// Ends the use. written: what compute changed; an offloaded record is sent home, the input alone or all but the
  /// input: at once, or, for the last level of training, when its slot is needed. That level carries the gradient down
  /// the layers and is written again and again in place, which no copy must see half done.
  enum class Written { Nothing, Input, Rest };
  void release(std::int64_t level, std::int64_t microBatch, Written written);
  /// The record is not needed any more: nothing is sent home for it.
  void drop(std::int64_t level, std::int64_t microBatch);

 private:
  struct Slot {
    std::byte* data = nullptr;
    std::int64_t record = -1;
    bool hasInput = false, hasRest = false;
    int users = 0;
    bool awaited = false; ///< prefetched and not used yet: other prefetches leave it alone
    std::int64_t usedAt = 0;
    bool unsent = false; ///< what compute wrote is sent home when the slot is needed for another record
    Event filled;        ///< the last copy in
    Event lastUse;       ///< the last compute on it
    Event sent;          ///< the last copy out of it
  };
  struct Home {
    std::byte* data = nullptr;
    Event inputStored, restStored;
  };
  std::int64_t index(std::int64_t level, std::int64_t microBatch) const;
  Slot* find(std::int64_t record);
  Slot* slotFor(std::int64_t record, bool mayTakeAwaited);
  void fetch(Slot& slot, std::int64_t record, Part part);
  /// Copies a part of the slot's record home and returns when that is done.
  Event send(Slot& slot, Bytes offset, Bytes bytes);

  Streams& m_streams;
  const bool m_offload;
  const std::int64_t m_levels; ///< distinct levels; forward-only runs alternate between two
  const bool m_training;
  const std::int64_t m_group;
  Bytes m_inputBytes = 0;
  Bytes m_recordBytes = 0;
  std::vector<std::byte*> m_records; ///< own memory, when not offloaded
  std::vector<Slot> m_slots;
  std::vector<Home> m_homes;
  std::int64_t m_clock = 0;
};

} // namespace millrace
