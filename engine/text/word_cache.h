// Remembers how pieces were encoded; most pieces of a text are words seen a moment ago. Fixed memory, a newer piece
// takes an older one's place. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace millrace {

/// For pieces of 1 to LongestPiece bytes that are at most MostIds tokens; an entry is a whole number of cache lines.
template <std::size_t LongestPiece, std::size_t MostIds, std::size_t Slots>
class PieceCache {
 public:
  /// The ids of a piece, nothing where it is not here.
  struct alignas(64) Entry {
    std::uint8_t length = 0; ///< 0: nothing here
    std::uint8_t count = 0;
    std::array<char, LongestPiece> piece;
    std::array<std::int32_t, MostIds> ids;

    bool holds(std::string_view other) const {
      return length == other.size() && std::memcmp(piece.data(), other.data(), other.size()) == 0;
    }
    std::span<const std::int32_t> tokens() const { return {ids.data(), count}; }
  };
  static_assert(LongestPiece <= UINT8_MAX && MostIds <= UINT8_MAX && sizeof(Entry) % 64 == 0);

  PieceCache() : m_entries(Slots) {}

  static bool takes(std::string_view piece) { return piece.size() <= LongestPiece; }

  /// Where the piece is, if it is here.
  Entry& slot(std::string_view piece) { return m_entries[hash(piece) & (Slots - 1)]; }

  /// Whether there was room for that many.
  static bool fill(Entry& entry, std::string_view piece, std::span<const std::int32_t> ids) {
    if (ids.size() > MostIds) return false;
    entry.length = static_cast<std::uint8_t>(piece.size());
    entry.count = static_cast<std::uint8_t>(ids.size());
    std::memcpy(entry.piece.data(), piece.data(), piece.size());
    std::memcpy(entry.ids.data(), ids.data(), ids.size() * sizeof(std::int32_t));
    return true;
  }

 private:
  static std::size_t hash(std::string_view piece) {
    const std::size_t n = piece.size();
    std::uint64_t hash = n * 0x9E3779B97F4A7C15u;
    std::uint64_t word = 0;
    if (n < 8) {
      for (const char c : piece) word = word << 8 | static_cast<unsigned char>(c);
    } else {
      for (std::size_t at = 0; at + 8 < n; at += 8) {
        std::memcpy(&word, piece.data() + at, 8);
        hash = mixed(hash, word);
      }
      std::memcpy(&word, piece.data() + n - 8, 8); // the last ones, of which some may have been taken already
    }
    return static_cast<std::size_t>(mixed(hash, word) >> 32);
  }
  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
    return hash ^ hash >> 32;
  }

  std::vector<Entry> m_entries;
};

/// Words, of one cache line each: 2 MiB.
using WordCache = PieceCache<30, 8, 32768>;
/// What is no word: indentation, rules of dashes, names of many tokens. 2 MiB.
using LongPieceCache = PieceCache<126, 32, 8192>;

} // namespace millrace
