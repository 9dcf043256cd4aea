#include "storage/tier_layout.h"

#include <cassert>

namespace millrace {

TierLayout::TierLayout(std::span<const Bytes> ranges, std::size_t directories, Bytes shardBytes)
    : m_shardBytes(std::max(stripeBytes, shardBytes / stripeBytes * stripeBytes)),
      // Alone, a directory has its turn again at once.
      m_stripe(directories == 1 ? m_shardBytes : stripeBytes) {
  assert(directories >= 1);
  Bytes total = 0;
  for (const Bytes bytes : ranges) {
    m_begins.push_back(total);
    total += alignUp(bytes, pageBytes);
  }
  const auto turn = static_cast<Bytes>(directories);
  const Bytes whole = total / m_stripe;
  for (std::size_t d = 0; d < directories; ++d) {
    const auto place = static_cast<Bytes>(d);
    Bytes left = (whole / turn + (place < whole % turn ? 1 : 0)) * m_stripe;
    if (place == whole % turn) left += total % m_stripe;
    m_firstShard.push_back(m_shards.size());
    for (std::size_t number = 0; left > 0; ++number) {
      const Bytes contents = std::min(left, m_shardBytes);
      m_shards.push_back({d, number, headerBytes + contents});
      left -= contents;
    }
  }
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
