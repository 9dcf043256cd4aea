// What two neighbouring tokens merge into, and how early: a flat hash table, written once and read by any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace millrace {

class PairTable {
 public:
  static constexpr std::uint64_t none = ~std::uint64_t{0}; ///< larger than every rank << 32 | id

  explicit PairTable(std::size_t pairs = 0)
      : m_shift(64 - static_cast<int>(std::bit_width(std::bit_ceil(2 * pairs + 2) - 1))),
        m_slots(std::bit_ceil(2 * pairs + 2)) {}

  /// The last insertion of a pair wins. At most as many pairs as the table was made for; ids are not negative.
  void insert(std::int32_t left, std::int32_t right, std::uint32_t rank, std::int32_t merged) {
    const std::uint64_t key = keyOf(left, right);
    std::size_t slot = slotOf(key);
    while (m_slots[slot].key != emptyKey && m_slots[slot].key != key) slot = (slot + 1) & (m_slots.size() - 1);
    m_slots[slot] = {key, std::uint64_t{rank} << 32 | static_cast<std::uint32_t>(merged)};
  }

  /// rank << 32 | merged id, or none.
  std::uint64_t find(std::int32_t left, std::int32_t right) const {
    const std::uint64_t key = keyOf(left, right);
    for (std::size_t slot = slotOf(key);; slot = (slot + 1) & (m_slots.size() - 1)) {
      if (m_slots[slot].key == key) return m_slots[slot].value;
      if (m_slots[slot].key == emptyKey) return none;
    }
  }

 private:
  static constexpr std::uint64_t emptyKey = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = emptyKey;
    std::uint64_t value = none;
  };
  static std::uint64_t keyOf(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t slotOf(std::uint64_t key) const {
    return static_cast<std::size_t>((key ^ key >> 29) * 0x9E3779B97F4A7C15u >> m_shift);
  }

  int m_shift;
  std::vector<Slot> m_slots;
};

} // namespace millrace
