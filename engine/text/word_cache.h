// Remembers how short pieces were encoded; most pieces of a text are words seen a moment ago. Fixed memory (2 MiB), a
// newer piece takes an older one's place. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace millrace {

class WordCache {
 public:
  static constexpr std::size_t longestPiece = 30;
  static constexpr std::size_t mostIds = 8;

  /// One cache line.
  struct alignas(64) Entry {
    std::uint8_t length = 0; ///< 0: nothing here
    std::uint8_t count = 0;
    std::array<char, longestPiece> piece;
    std::array<std::int32_t, mostIds> ids;
  };

  WordCache() : m_entries(slots) {}

  /// The slot of a piece of 1 to longestPiece bytes.
  Entry& slot(std::string_view piece) {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    const std::size_t n = piece.size();
    if (n >= 8) {
      std::memcpy(&a, piece.data(), 8);
      std::memcpy(&b, piece.data() + n - 8, 8);
      if (n > 16) {
        std::uint64_t middle;
        std::memcpy(&middle, piece.data() + 8, 8);
        b ^= middle * 0xC2B2AE3D27D4EB4Fu;
      }
    } else {
      for (std::size_t i = 0; i < n; ++i) a = a << 8 | static_cast<unsigned char>(piece[i]);
    }
    std::uint64_t hash = (a ^ n) * 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 32 ^ b) * 0xD6E8FEB86659FD93u;
    return m_entries[static_cast<std::size_t>(hash >> 32) & (slots - 1)];
  }
  static bool holds(const Entry& entry, std::string_view piece) {
    return entry.length == piece.size() && std::memcmp(entry.piece.data(), piece.data(), piece.size()) == 0;
  }
  /// Nothing happens when there are more than mostIds.
  static void fill(Entry& entry, std::string_view piece, std::span<const std::int32_t> ids) {
    if (ids.size() > mostIds) return;
    entry.length = static_cast<std::uint8_t>(piece.size());
    entry.count = static_cast<std::uint8_t>(ids.size());
    std::memcpy(entry.piece.data(), piece.data(), piece.size());
    std::memcpy(entry.ids.data(), ids.data(), ids.size() * sizeof(std::int32_t));
  }

 private:
  static constexpr std::size_t slots = 32768;
  std::vector<Entry> m_entries;
};

} // namespace millrace
