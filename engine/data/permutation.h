// A seeded shuffle without a table: where each index of [0, size) goes is computed from the key alone, so that a place
// in the order is one number. A Feistel network over the next power of four, walked along its cycle back into the range
// (Black and Rogaway 2002). Immutable, any thread.
#pragma once

#include <bit>
#include <cstdint>

namespace millrace {

class Permutation {
 public:
  /// size >= 1.
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch)
      : m_size(size),
        m_halfBits(size <= 1 ? 1 : (static_cast<int>(std::bit_width(size - 1)) + 1) / 2),
        m_key(mix(mix(seed) + epoch)) {}

  /// A bijection of [0, size) onto itself.
  std::uint64_t operator()(std::uint64_t index) const {
    // The network permutes less than 4 * size values, so the walk takes a few steps on average and always comes back.
    do index = network(index);
    while (index >= m_size);
    return index;
  }

 private:
  static std::uint64_t mix(std::uint64_t x) { // SplitMix64's finaliser
    x += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
  }
  std::uint64_t network(std::uint64_t value) const {
    const std::uint64_t mask = (std::uint64_t{1} << m_halfBits) - 1;
    std::uint64_t left = value >> m_halfBits;
    std::uint64_t right = value & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t next = left ^ (mix(right ^ (m_key + round * 0xD1342543DE82EF95u)) & mask);
      left = right;
      right = next;
    }
    return left << m_halfBits | right;
  }

  std::uint64_t m_size;
  int m_halfBits;
  std::uint64_t m_key;
};

} // namespace millrace
