// What is known of the contents of a tier on disk, in memory: for each granule its checksum, the one before, and how
// often it has been written. Entries of different granules may be touched by different threads.
#pragma once

#include "base/hash.h"
#include "base/units.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace millrace {

/// What one request moves and one checksum covers.
constexpr Bytes diskGranule = MiB;

class GranuleTable {
 public:
  enum class Match {
    Yes,
    Earlier, ///< what was there before the last write
    No,
  };

  explicit GranuleTable(std::span<const Bytes> ranges) {
    std::size_t count = 0;
    for (const Bytes bytes : ranges) {
      m_first.push_back(count);
      count += static_cast<std::size_t>((bytes + diskGranule - 1) / diskGranule);
    }
    m_entries.resize(count);
  }

  /// The granule that begins at byte `first` of a range.
  std::size_t at(std::size_t range, Bytes first) const {
    return m_first[range] + static_cast<std::size_t>(first / diskGranule);
  }

  bool written(std::size_t granule) const { return m_entries[granule].version > 0; }
  std::uint32_t version(std::size_t granule) const { return m_entries[granule].version; }

  /// These bytes are about to be written.
  void advance(std::size_t granule, std::span<const std::byte> bytes) {
    Entry& entry = m_entries[granule];
    entry.before = entry.checksum;
    entry.checksum = hash64(bytes);
    ++entry.version;
  }

  /// Whether these bytes, which were read, are those that were written last.
  Match compare(std::size_t granule, std::span<const std::byte> bytes) const {
    const Entry& entry = m_entries[granule];
    const std::uint64_t checksum = hash64(bytes);
    if (checksum == entry.checksum) return Match::Yes;
    const bool earlier = entry.version > 1 ? checksum == entry.before : isZero(bytes);
    return earlier ? Match::Earlier : Match::No;
  }

 private:
  struct Entry {
    std::uint64_t checksum = 0;
    std::uint64_t before = 0;  ///< with version > 1
    std::uint32_t version = 0; ///< writes so far
  };
  static bool isZero(std::span<const std::byte> bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](std::byte b) { return b == std::byte{0}; });
  }
  std::vector<std::size_t> m_first; ///< by range
  std::vector<Entry> m_entries;
};

} // namespace millrace
