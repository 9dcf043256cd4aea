// An NVIDIA GPU as a device; see createCudaDevice() in device/device.h.
#pragma once

#include "base/mutex.h"
#include "device/cuda/cuda_event.h"
#include "device/cuda/cuda_kernels.h"
#include "device/cuda/cuda_signal.h"
#include "device/cuda/link_limit.h"
#include "device/device.h"

#include <memory>
#include <set>

namespace millrace {

class CudaDevice final : public Device, private Buffer::Owner {
 public:
  static Result<std::unique_ptr<Device>> create(ThreadPool& pool, int index, Bytes deviceLimit, Bytes hostLimit,
                                                HostMemoryAdvice advice);
  ~CudaDevice() override;

  DeviceKind kind() const override { return DeviceKind::Cuda; }
  std::string name() const override { return m_name; }
  Result<Buffer> allocate(Bytes bytes, MemorySpace space, const std::string& purpose) override;
  std::unique_ptr<Stream> createStream(const std::string& name) override;
  HostSignal createHostSignal() override;
  Kernels& kernels() override { return *m_kernels; }
  MemoryUse memoryUse(MemorySpace space) const override;
  std::vector<std::string> notices() const override;
  void limitLink(double bytesPerSecond) override;

  int index() const { return m_index; }
  ThreadPool& pool() const { return m_pool; }
  /// Null: copies are as fast as they can be.
  cuda::LinkLimit* link() const { return m_link.get(); }
  const std::shared_ptr<CudaEventPool>& events() const { return m_events; }
  const std::shared_ptr<CudaEventPool>& timedEvents() const { return m_timedEvents; }
  const std::shared_ptr<CudaFailure>& failure() const { return m_failure; }

 private:
  CudaDevice(ThreadPool& pool, int index, Bytes deviceLimit, Bytes hostLimit, HostMemoryAdvice advice);
  void release(void* data, Bytes bytes, MemorySpace space) noexcept override;

  ThreadPool& m_pool;
  const int m_index;
  const HostMemoryAdvice m_advice;
  std::string m_name;
  const std::shared_ptr<CudaEventPool> m_events;
  const std::shared_ptr<CudaEventPool> m_timedEvents;
  const std::shared_ptr<CudaFailure> m_failure;
  const std::shared_ptr<CudaSignalWords> m_words;
  std::unique_ptr<CudaKernels> m_kernels;
  std::unique_ptr<cuda::LinkLimit> m_link;
  mutable Mutex m_mutex;
  MemoryUse m_use[2] MILLRACE_GUARDED_BY(m_mutex);
  std::set<void*> m_pageable MILLRACE_GUARDED_BY(m_mutex); ///< host buffers that could not be registered
  std::vector<std::string> m_notices MILLRACE_GUARDED_BY(m_mutex);
};

} // namespace millrace
