// Where the bytes of a tier on disk lie: ranges one after the other in one space of bytes, which is cut into stripes
// that are dealt to the directories in turn; a directory deals its stripes to some of its files, its shards, in turn,
// until those are full. Pure arithmetic, immutable.
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
  /// So much lies in one file before the next one's turn.
  static constexpr Bytes stripeBytes = 4 * MiB;
  /// Of a directory, that take turns: systems let one writer at a time into a file.
  static constexpr Bytes lanes = 16;

  /// Ranges by their bytes, each beginning at a page. directories >= 1. shardBytes is the contents of a full shard,
  /// rounded down to whole stripes (at least one); a directory's last ones share what is left.
  TierLayout(std::span<const Bytes> ranges, std::size_t directories, Bytes shardBytes);

  /// By directory, then by number.
  const std::vector<TierShard>& shards() const { return m_shards; }
  std::size_t directories() const { return m_directories.size(); }
  /// Of all files of the directory.
  Bytes directoryBytes(std::size_t directory) const;
  /// Of all files: the ranges in whole pages, and a header a shard.
  Bytes totalBytes() const;

  /// Calls piece(shard, offset in its file, bytes) for bytes [first, first + bytes) of a range, in their order; what
  /// follows each other in one file comes at once.
  template <class Piece>
  void visit(std::size_t range, Bytes first, Bytes bytes, const Piece& piece) const {
    Bytes at = m_begins[range] + first;
    const Bytes end = at + bytes;
    while (at < end) {
      const Place begin = placeOf(at);
      Bytes length = 0;
      do {
        length += std::min(end - at - length, stripeBytes - (at + length) % stripeBytes);
      } while (at + length < end && placeOf(at + length) == Place{begin.shard, begin.offset + length});
      piece(begin.shard, begin.offset, length);
      at += length;
    }
  }

 private:
  struct Place {
    std::size_t shard = 0;
    Bytes offset = 0;
    bool operator==(const Place&) const = default;
  };
  Place placeOf(Bytes at) const {
    const auto turn = static_cast<Bytes>(directories());
    const Bytes stripe = at / stripeBytes, local = stripe / turn;
    const Directory& directory = m_directories[static_cast<std::size_t>(stripe % turn)];
    const Bytes group = local / (lanes * m_shardStripes), within = local % (lanes * m_shardStripes);
    const Bytes sharing = group < directory.fullGroups ? lanes : directory.lastLanes;
    return {directory.firstShard + static_cast<std::size_t>(group * lanes + within % sharing),
            headerBytes + within / sharing * stripeBytes + at % stripeBytes};
  }

  struct Directory {
    std::size_t firstShard = 0;
    Bytes fullGroups = 0; ///< of as many shards as there are lanes, all full
    Bytes lastLanes = 0;  ///< shards behind them
  };
  Bytes m_shardStripes; ///< of a full shard
  std::vector<Bytes> m_begins;
  std::vector<Directory> m_directories;
  std::vector<TierShard> m_shards;
};

} // namespace millrace
