#include "device/cuda/pinned_memory.h"

#include <algorithm>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/mman.h>

namespace millrace {

namespace {

/// Registered at once; larger pieces have been refused by drivers.
constexpr Bytes largestPiece = 64 * GiB;
/// Touched as one task.
constexpr Bytes touchedPiece = 64 * MiB;

} // namespace

Result<void*> PinnedMemory::allocate(Bytes bytes, const std::string& purpose) {
  const auto size = static_cast<std::size_t>(bytes);
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return failure(ErrorKind::DoesNotFit, fmt::format("the system refuses {} for {}: close other programs, or lower "
                                                      "memory.ram_limit so that less is planned",
                                                      formatBytes(bytes), purpose));
  // Advice only: small pages work too, they only take longer to register.
  if (bytes >= 4 * MiB) (void)::madvise(data, size, MADV_HUGEPAGE);
  auto* first = static_cast<std::byte*>(data);
  m_pool.parallelFor((bytes + touchedPiece - 1) / touchedPiece, [&](std::int64_t piece) {
    const Bytes begin = piece * touchedPiece, end = std::min(bytes, begin + touchedPiece);
    for (Bytes at = begin; at < end; at += 4 * KiB) first[at] = std::byte{0};
  });
  std::vector<Piece>& pieces = m_registered[data];
  for (Bytes at = 0; at < bytes; at += largestPiece) {
    const Piece piece{first + at, std::min(largestPiece, bytes - at)};
    if (cudaHostRegister(piece.data, static_cast<std::size_t>(piece.bytes), cudaHostRegisterPortable) == cudaSuccess) {
      pieces.push_back(piece);
    } else {
      (void)cudaGetLastError(); // told through pageableBytes()
      m_pageable += piece.bytes;
    }
  }
  return data;
}

void PinnedMemory::release(void* data, Bytes bytes) {
  if (const auto found = m_registered.find(data); found != m_registered.end()) {
    Bytes registered = 0;
    for (const Piece& piece : found->second) {
      (void)cudaHostUnregister(piece.data);
      registered += piece.bytes;
    }
    m_pageable -= bytes - registered;
    m_registered.erase(found);
  }
  ::munmap(data, static_cast<std::size_t>(bytes));
}

} // namespace millrace
