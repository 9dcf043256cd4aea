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

/// The first `registered` bytes are.
void release(void* data, Bytes bytes, Bytes registered) {
  for (Bytes at = 0; at < registered; at += largestPiece) (void)cudaHostUnregister(static_cast<std::byte*>(data) + at);
  ::munmap(data, static_cast<std::size_t>(bytes));
}

} // namespace

Result<void*> allocatePinned(ThreadPool& pool, Bytes bytes, const std::string& purpose) {
  const auto size = static_cast<std::size_t>(bytes);
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return failure(ErrorKind::DoesNotFit, fmt::format("the system refuses {} for {}: close other programs, or lower "
                                                      "memory.ram_limit so that less is planned",
                                                      formatBytes(bytes), purpose));
  // Advice only: small pages work too, they only take longer to register.
  if (bytes >= 4 * MiB) (void)::madvise(data, size, MADV_HUGEPAGE);
  auto* first = static_cast<std::byte*>(data);
  pool.parallelFor((bytes + touchedPiece - 1) / touchedPiece, [&](std::int64_t piece) {
    const Bytes begin = piece * touchedPiece, end = std::min(bytes, begin + touchedPiece);
    for (Bytes at = begin; at < end; at += 4 * KiB) first[at] = std::byte{0};
  });
  for (Bytes at = 0; at < bytes; at += largestPiece) {
    const auto piece = static_cast<std::size_t>(std::min(largestPiece, bytes - at));
    const cudaError_t status = cudaHostRegister(first + at, piece, cudaHostRegisterPortable);
    if (status == cudaSuccess) continue;
    (void)cudaGetLastError(); // it is told here; later launches are not to be blamed
    release(data, bytes, at);
    return failure(ErrorKind::DoesNotFit,
                   fmt::format("the GPU's driver refuses to register {} of host memory for {} ({}): raise the limit of "
                               "locked memory (ulimit -l, the container's memlock), or lower memory.ram_limit",
                               formatBytes(bytes), purpose, cudaGetErrorString(status)));
  }
  return data;
}

void releasePinned(void* data, Bytes bytes) {
  release(data, bytes, bytes);
}

} // namespace millrace
