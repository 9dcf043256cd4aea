// TensorStore: every parameter, moment and waiting gradient of a model, block by block and plane by plane, wherever its
// tier is; with the version that says how many updates a block has had. Planes on disk have no memory: whoever needs
// them asks for their range of the disk tier. Owned by the run; versions and ready events are touched by the submitting
// thread alone, plane contents by whoever holds the block at that point of the schedule.
#pragma once

#include "device/device.h"
#include "device/kernels.h"
#include "model/blocks.h"
#include "plan/memory_plan.h"
#include "storage/disk_planes.h"
#include "storage/planned_memory.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace millrace {

class TensorStore {
 public:
  /// memory must hold the plan's allocations, disk its diskRanges() (null where there are none); both outlive the
  /// store.
  TensorStore(const ModelSpec& spec, const MemoryPlan& plan, const PlannedMemory& memory, DiskTier* disk = nullptr);

  const std::vector<BlockSpec>& blocks() const { return m_blocks; }
  const RunShape& shape() const { return m_shape; }

  bool onDevice(std::size_t block) const { return m_states[block].tier == MemoryTier::Device; }
  /// Whether weights can be written with fill(): all of their planes are in host memory.
  bool fillable(std::size_t block) const;
  /// The plane as one range (elements) in its dtype. On disk: without memory, but with dtype and shape; rank 0 where
  /// the plan has no such plane.
  TensorView plane(std::size_t block, Plane plane) const;
  /// Which of diskRanges() the plane is; nullopt: it is not on disk.
  std::optional<std::size_t> diskRange(std::size_t block, Plane plane) const;
  /// AdamW over elements [first, first + count), cut where weight decay starts or ends. Scalars are the caller's, and
  /// so is the memory of planes that are on disk.
  std::vector<AdamWArgs> updateRanges(std::size_t block, const TensorView& gradient, std::int64_t first,
                                      std::int64_t count) const;

  /// Changes of a block's weights so far: updates that have been scheduled, and writes. What is read after ready() has
  /// happened is of this version.
  std::int64_t version(std::size_t block) const { return m_states[block].version; }
  const Event& ready(std::size_t block) const { return m_states[block].ready; }
  /// A further update is scheduled; the block may be read again once `ready` has happened.
  void advance(std::size_t block, Event ready);

  /// fp32 values of [first, first + size): master weights, first or second moments. All scheduled updates must have
  /// happened. Device planes travel through the stream, which is synchronized. Errors: the disk's, DiskTier::read().
  enum class Quantity { Master, Moment1, Moment2 };
  Status read(Stream& stream, std::size_t block, Quantity quantity, std::int64_t first, std::span<float> values) const;
  Status write(Stream& stream, std::size_t block, Quantity quantity, std::int64_t first, std::span<const float> values);
  /// write() of master weights of a fillable() block that nobody has read yet: no new version, so that threads may fill
  /// different ranges at once.
  void fill(std::size_t block, std::int64_t first, std::span<const float> values);

 private:
  struct State {
    MemoryTier tier = MemoryTier::Host;
    std::byte* planes[6] = {};
    std::optional<std::size_t> ranges[6]; ///< of planes on disk
    std::int64_t version = 0;
    Event ready;
  };
  template <class T>
  Status fetch(Stream& stream, std::size_t block, Plane which, std::int64_t first, std::vector<T>& values) const;
  template <class T>
  Status store(Stream& stream, std::size_t block, Plane which, std::int64_t first, std::span<const T> values);

  RunShape m_shape;
  std::vector<BlockSpec> m_blocks;
  std::vector<State> m_states;
  std::optional<DiskPlanes> m_disk;
};

} // namespace millrace
