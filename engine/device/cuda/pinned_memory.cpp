#include "device/cuda/pinned_memory.h"

#include <algorithm>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

namespace millrace {

namespace {

/// Registered at once; larger pieces have been refused by drivers.
constexpr Bytes largestPiece = 64 * GiB;
/// Touched as one task.
constexpr Bytes touchedPiece = 64 * MiB;

void unregister(void* data, Bytes bytes) {
  for (Bytes at = 0; at < bytes; at += largestPiece) (void)cudaHostUnregister(static_cast<std::byte*>(data) + at);
}

/// The limit that most likely is why.
std::string limitOf(Bytes bytes) {
  rlimit lock{};
  if (::getrlimit(RLIMIT_MEMLOCK, &lock) == 0 && lock.rlim_cur != RLIM_INFINITY &&
      static_cast<Bytes>(std::min<rlim_t>(lock.rlim_cur, 1ULL << 60)) < bytes)
    return fmt::format("the limit of locked memory is {}: raise it (ulimit -l, a container's memlock)",
                       formatBytes(static_cast<Bytes>(lock.rlim_cur)));
  return "the system or, under Windows, its cap on pinned memory does not allow more: lower memory.ram_limit";
}

} // namespace

Result<PinnedMemory> allocatePinned(ThreadPool& pool, Bytes bytes, const std::string& purpose,
                                    const HostMemoryAdvice& advice) {
  const auto size = static_cast<std::size_t>(bytes);
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return failure(ErrorKind::DoesNotFit, fmt::format("the system refuses {} for {}: close other programs, or lower "
                                                      "memory.ram_limit so that less is planned",
                                                      formatBytes(bytes), purpose));
  // Advice only: small pages work too, they only take longer to register.
  if (bytes >= 4 * MiB) (void)::madvise(data, size, MADV_HUGEPAGE);
  if (advice) (void)advice(data, bytes);
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
    unregister(data, at);
    return PinnedMemory{data,
                        fmt::format("the GPU's driver refuses to register {} of host memory for {} ({}), so copies "
                                    "of it are several times slower: {}",
                                    formatBytes(bytes), purpose, cudaGetErrorString(status), limitOf(bytes))};
  }
  return PinnedMemory{data, {}};
}

void releasePinned(void* data, Bytes bytes, bool registered) {
  if (registered) unregister(data, bytes);
  ::munmap(data, static_cast<std::size_t>(bytes));
}

} // namespace millrace
