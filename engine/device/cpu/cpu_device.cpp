#include "device/cpu/cpu_device.h"

#include "device/cpu/cpu_stream.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>
#include <sys/mman.h>

namespace millrace {

CpuDevice::CpuDevice(ThreadPool& pool, Bytes deviceLimit, Bytes hostLimit) : m_kernels(pool) {
  m_use[static_cast<int>(MemorySpace::Device)].limit = deviceLimit;
  m_use[static_cast<int>(MemorySpace::Host)].limit = hostLimit;
}

CpuDevice::~CpuDevice() {
  assert(m_use[0].used == 0 && m_use[1].used == 0 && "a buffer outlives its device");
}

Result<Buffer> CpuDevice::allocate(Bytes bytes, MemorySpace space, const std::string& purpose) {
  assert(bytes > 0);
  {
    Lock lock(m_mutex);
    MemoryUse& use = m_use[static_cast<int>(space)];
    if (bytes > use.limit - use.used) return refusal(bytes, space, purpose, use);
    use.used += bytes;
    use.peak = std::max(use.peak, use.used);
  }
  void* data =
      ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    release(nullptr, bytes, space);
    return failure(ErrorKind::DoesNotFit, fmt::format("the system refuses {} for {}: close other programs, or lower "
                                                      "memory.ram_limit so that less is planned",
                                                      formatBytes(bytes), purpose));
  }
  // Advice only: without huge pages everything works, AdamW just runs a little slower.
  if (bytes >= 4 * MiB) (void)::madvise(data, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
  return Buffer(*this, data, bytes, space);
}

void CpuDevice::release(void* data, Bytes bytes, MemorySpace space) noexcept {
  if (data) ::munmap(data, static_cast<std::size_t>(bytes));
  Lock lock(m_mutex);
  m_use[static_cast<int>(space)].used -= bytes;
}

std::unique_ptr<Stream> CpuDevice::createStream(const std::string& name) {
  return std::make_unique<CpuStream>(*this, name);
}

HostSignal CpuDevice::createHostSignal() {
  return HostSignal(std::make_shared<CpuEvent>());
}

MemoryUse CpuDevice::memoryUse(MemorySpace space) const {
  Lock lock(m_mutex);
  return m_use[static_cast<int>(space)];
}

std::unique_ptr<Device> createCpuDevice(ThreadPool& pool, Bytes deviceLimit, Bytes hostLimit) {
  return std::make_unique<CpuDevice>(pool, deviceLimit, hostLimit);
}

} // namespace millrace
