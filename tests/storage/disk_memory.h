// Pages of memory for transfers of a tier on disk, and transfers of one slice.
#pragma once

#include "base/random.h"
#include "storage/disk_tier.h"

#include <algorithm>
#include <cstring>

namespace millrace::test {

/// Room for so many bytes, filled with what the seed says.
class DiskMemory {
 public:
  explicit DiskMemory(Bytes bytes, std::uint64_t seed = 0) : m_pages(allocatePages(bytes)), m_bytes(bytes) {
    fill(seed);
  }
  void fill(std::uint64_t seed) {
    Random random(seed, "memory");
    for (Bytes at = 0; at < m_bytes; at += 8) {
      const std::uint64_t bits = random.next();
      std::memcpy(data() + at, &bits, static_cast<std::size_t>(std::min<Bytes>(8, m_bytes - at)));
    }
  }
  std::byte* data() const { return m_pages.get(); }
  std::span<std::byte> span() const { return {data(), static_cast<std::size_t>(m_bytes)}; }
  bool operator==(const DiskMemory& other) const {
    return m_bytes == other.m_bytes && std::memcmp(data(), other.data(), span().size()) == 0;
  }

 private:
  PageMemory m_pages;
  Bytes m_bytes;
};

inline Status write(DiskTier& tier, const DiskSlice& slice, const DiskMemory& memory) {
  const DiskTransfer transfer{slice, memory.data()};
  return tier.write({&transfer, 1}).wait();
}

inline Status read(DiskTier& tier, const DiskSlice& slice, const DiskMemory& memory) {
  const DiskTransfer transfer{slice, memory.data()};
  return tier.read({&transfer, 1}).wait();
}

} // namespace millrace::test
