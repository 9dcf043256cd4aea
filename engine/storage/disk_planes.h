// DiskPlanes: bytes of planes on disk at any place and of any length, for loading and saving; the tier itself moves
// whole granules. What is less than a granule is read before it is written. One thread.
#pragma once

#include "plan/memory_plan.h"
#include "storage/disk_tier.h"

#include <span>
#include <vector>

namespace millrace {

/// The planes of a plan that live on disk, in its order: what the tier is made for. Their bytes add up to the plan's
/// total of the disk.
std::vector<DiskRange> diskRanges(const MemoryPlan& plan);

class DiskPlanes {
 public:
  /// staging: page-aligned memory of at least one granule, or of the largest plane, that nobody else uses during a
  /// call.
  DiskPlanes(DiskTier& tier, std::span<std::byte> staging) : m_tier(tier), m_staging(staging) {}

  struct Plane {
    std::size_t range = 0; ///< of the tier
    Bytes bytes = 0;       ///< all of it
  };
  /// first and what follows must lie within the plane. Errors: the tier's.
  Status read(const Plane& plane, Bytes first, std::span<std::byte> destination) const;
  Status write(const Plane& plane, Bytes first, std::span<const std::byte> source) const;

 private:
  /// Whole granules that cover [first, first + bytes), as many as the staging holds.
  DiskSlice covering(const Plane& plane, Bytes first, Bytes bytes) const;

  DiskTier& m_tier;
  const std::span<std::byte> m_staging;
};

} // namespace millrace
