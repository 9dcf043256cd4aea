#include "storage/disk_planes.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace millrace {

std::vector<DiskRange> diskRanges(const MemoryPlan& plan) {
  std::vector<DiskRange> ranges;
  for (const Allocation& allocation : plan.allocations)
    if (allocation.tier == MemoryTier::Disk) ranges.push_back({allocation.name, allocation.bytes});
  return ranges;
}

DiskSlice DiskPlanes::covering(const Plane& plane, Bytes first, Bytes bytes) const {
  assert(first >= 0 && bytes > 0 && first + bytes <= plane.bytes);
  const auto staging = static_cast<Bytes>(m_staging.size());
  const Bytes begin = first / diskGranule * diskGranule;
  const Bytes end = std::min(plane.bytes, alignUp(first + bytes, diskGranule));
  const Bytes held = end - begin <= staging ? end - begin : staging / diskGranule * diskGranule;
  assert(held > 0);
  return {plane.range, begin, held};
}

Status DiskPlanes::read(const Plane& plane, Bytes first, std::span<std::byte> destination) const {
  while (!destination.empty()) {
    const DiskSlice slice = covering(plane, first, static_cast<Bytes>(destination.size()));
    const DiskTransfer transfer{slice, m_staging.data()};
    MILLRACE_CHECK(m_tier.read({&transfer, 1}).wait());
    const auto count =
        static_cast<std::size_t>(std::min(slice.first + slice.bytes - first, static_cast<Bytes>(destination.size())));
    std::memcpy(destination.data(), m_staging.data() + (first - slice.first), count);
    destination = destination.subspan(count);
    first += static_cast<Bytes>(count);
  }
  return {};
}

Status DiskPlanes::write(const Plane& plane, Bytes first, std::span<const std::byte> source) const {
  while (!source.empty()) {
    const DiskSlice slice = covering(plane, first, static_cast<Bytes>(source.size()));
    const DiskTransfer transfer{slice, m_staging.data()};
    const Bytes end = std::min(slice.first + slice.bytes, first + static_cast<Bytes>(source.size()));
    // All of the slice but what is overwritten; in the middle of a long write that is nothing.
    if (first != slice.first || end != slice.first + slice.bytes) MILLRACE_CHECK(m_tier.read({&transfer, 1}).wait());
    const auto count = static_cast<std::size_t>(end - first);
    std::memcpy(m_staging.data() + (first - slice.first), source.data(), count);
    MILLRACE_CHECK(m_tier.write({&transfer, 1}).wait());
    source = source.subspan(count);
    first += static_cast<Bytes>(count);
  }
  return {};
}

} // namespace millrace
