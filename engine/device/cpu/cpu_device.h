// The CPU as a device; see createCpuDevice() in device/device.h.
#pragma once

#include "base/mutex.h"
#include "device/cpu/cpu_kernels.h"
#include "device/device.h"

namespace millrace {

class CpuDevice final : public Device, private Buffer::Owner {
 public:
  CpuDevice(ThreadPool& pool, Bytes deviceLimit, Bytes hostLimit);
  ~CpuDevice() override;

  DeviceKind kind() const override { return DeviceKind::Cpu; }
  std::string name() const override { return "cpu"; }
  Result<Buffer> allocate(Bytes bytes, MemorySpace space, const std::string& purpose) override;
  std::unique_ptr<Stream> createStream(const std::string& name) override;
  HostSignal createHostSignal() override;
  Kernels& kernels() override { return m_kernels; }
  MemoryUse memoryUse(MemorySpace space) const override;

 private:
  void release(void* data, Bytes bytes, MemorySpace space) noexcept override;

  CpuKernels m_kernels;
  mutable Mutex m_mutex;
  MemoryUse m_use[2] MILLRACE_GUARDED_BY(m_mutex);
};

} // namespace millrace
