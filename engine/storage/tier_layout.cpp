#include "storage/tier_layout.h"

#include <cassert>

namespace millrace {

TierLayout::TierLayout(std::span<const Bytes> ranges, std::size_t directories, Bytes shardBytes)
    : m_shardStripes(std::max<Bytes>(1, shardBytes / stripeBytes)) {
  assert(directories >= 1);
  Bytes total = 0;
  for (const Bytes bytes : ranges) {
    m_begins.push_back(total);
    total += alignUp(bytes, pageBytes);
  }
  const auto turn = static_cast<Bytes>(directories);
  const Bytes stripes = (total + stripeBytes - 1) / stripeBytes;
  for (Bytes d = 0; d < turn; ++d) {
    const Bytes own = stripes / turn + (d < stripes % turn ? 1 : 0);
    const Bytes left = own % (lanes * m_shardStripes);
    m_directories.push_back(
        {m_shards.size(), own / (lanes * m_shardStripes), (left + m_shardStripes - 1) / m_shardStripes});
    const Directory& directory = m_directories.back();
    const auto add = [&](Bytes shardStripes) {
      const std::size_t number = m_shards.size() - directory.firstShard;
      m_shards.push_back({static_cast<std::size_t>(d), number, headerBytes + shardStripes * stripeBytes});
    };
    for (Bytes shard = 0; shard < directory.fullGroups * lanes; ++shard) add(m_shardStripes);
    for (Bytes lane = 0; lane < directory.lastLanes; ++lane)
      add(left / directory.lastLanes + (lane < left % directory.lastLanes ? 1 : 0));
  }
  // The last stripe ends where the ranges do.
  if (total % stripeBytes != 0) m_shards[placeOf(total).shard].bytes -= stripeBytes - total % stripeBytes;
}

Bytes TierLayout::directoryBytes(std::size_t directory) const {
  Bytes sum = 0;
  for (const TierShard& shard : m_shards)
    if (shard.directory == directory) sum += shard.bytes;
  return sum;
}

Bytes TierLayout::totalBytes() const {
  Bytes sum = 0;
  for (const TierShard& shard : m_shards) sum += shard.bytes;
  return sum;
}

} // namespace millrace
