// Where the bytes of a tier on disk lie: ranges one after the other in one space of bytes, which is cut into stripes
// that are dealt to the directories in turn; a directory's stripes follow each other through files of one size, its
// shards. Pure arithmetic, immutable.
#pragma once

#include "base/page_memory.h"
#include "base/units.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace millrace {

struct TierShard {
  std::size_t directory = 0;
  std::size_t number = 0; ///< within the directory
  Bytes bytes = 0;        ///< of the file, its header included
};

class TierLayout {
 public:
  /// What comes before the contents of each shard.
  static constexpr Bytes headerBytes = pageBytes;
  /// With several directories so much lies in one before the next one's turn.
  static constexpr Bytes stripeBytes = 4 * MiB;

  /// Ranges by their bytes, each beginning at a page. directories >= 1. shardBytes is the contents of a shard, rounded
  /// down to whole stripes (at least one); the last shard of a directory is as long as it must be.
  TierLayout(std::span<const Bytes> ranges, std::size_t directories, Bytes shardBytes);

  /// By directory, then by number.
  const std::vector<TierShard>& shards() const { return m_shards; }
  std::size_t directories() const { return m_firstShard.size(); }
  /// Of all files of the directory.
  Bytes directoryBytes(std::size_t directory) const;
  /// Of all files: the ranges in whole pages, and a header a shard.
  Bytes totalBytes() const;

  /// Calls piece(shard, offset in its file, bytes) for bytes [first, first + bytes) of a range, in their order; what
  /// follows each other in one file comes at once.
  template <class Piece>
  void visit(std::size_t range, Bytes first, Bytes bytes, const Piece& piece) const {
    for (Bytes at = m_begins[range] + first, end = at + bytes; at < end;) {
      const Bytes stripe = at / m_stripe, within = at % m_stripe;
      const auto turn = static_cast<Bytes>(directories());
      const Bytes local = stripe / turn * m_stripe + within;
      const Bytes length = std::min(end - at, m_stripe - within);
      piece(m_firstShard[static_cast<std::size_t>(stripe % turn)] + static_cast<std::size_t>(local / m_shardBytes),
            headerBytes + local % m_shardBytes, length);
      at += length;
    }
  }

 private:
  Bytes m_shardBytes; ///< contents of a full shard
  Bytes m_stripe;     ///< divides m_shardBytes
  std::vector<Bytes> m_begins;
  std::vector<std::size_t> m_firstShard; ///< by directory
  std::vector<TierShard> m_shards;
};

} // namespace millrace
