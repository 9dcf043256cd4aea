#include "device/cuda/cuda_device.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/pinned_memory.h"
#include "device/cuda/usable_gpu.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace millrace {

Result<std::unique_ptr<Device>> CudaDevice::create(ThreadPool& pool, int index, Bytes deviceLimit, Bytes hostLimit,
                                                   HostMemoryAdvice advice) {
  MILLRACE_CHECK(cuda::checkUsable(index));
  try {
    return std::unique_ptr<Device>(new CudaDevice(pool, index, deviceLimit, hostLimit, std::move(advice)));
  } catch (const EngineException& problem) {
    return tl::unexpected<Error>(problem.error());
  }
}

CudaDevice::CudaDevice(ThreadPool& pool, int index, Bytes deviceLimit, Bytes hostLimit, HostMemoryAdvice advice)
    : m_pool(pool),
      m_index(index),
      m_advice(std::move(advice)),
      m_events(std::make_shared<CudaEventPool>(false)),
      m_timedEvents(std::make_shared<CudaEventPool>(true)),
      m_failure(std::make_shared<CudaFailure>()),
      m_words(std::make_shared<CudaSignalWords>()) {
  m_use[static_cast<int>(MemorySpace::Device)].limit = deviceLimit;
  m_use[static_cast<int>(MemorySpace::Host)].limit = hostLimit;
  cuda::check(cudaSetDevice(index), "choosing the GPU");
  cudaDeviceProp properties{};
  cuda::check(cudaGetDeviceProperties(&properties, index), "asking for the GPU's properties");
  m_name = properties.name;
  m_kernels = std::make_unique<CudaKernels>();
}

CudaDevice::~CudaDevice() {
  assert(m_use[0].used == 0 && m_use[1].used == 0 && "a buffer outlives its device");
}

Result<Buffer> CudaDevice::allocate(Bytes bytes, MemorySpace space, const std::string& purpose) {
  assert(bytes > 0);
  cuda::check(cudaSetDevice(m_index), "choosing the GPU");
  Lock lock(m_mutex);
  MemoryUse& use = m_use[static_cast<int>(space)];
  if (bytes > use.limit - use.used) return refusal(bytes, space, purpose, use);
  void* data = nullptr;
  if (space == MemorySpace::Device) {
    cudaError_t status = cudaMalloc(&data, static_cast<std::size_t>(bytes));
    if (status == cudaSuccess) status = cudaMemset(data, 0, static_cast<std::size_t>(bytes));
    // It runs on a stream of its own, which ours do not wait for: without this it could wipe what they copy in.
    if (status == cudaSuccess) status = cudaStreamSynchronize(cudaStreamLegacy);
    if (status != cudaSuccess) {
      (void)cudaGetLastError(); // it is told here; later launches are not to be blamed
      (void)cudaFree(data);
      return tl::unexpected<Error>(
          cuda::cudaFailure(status, fmt::format("allocating {} for {}", formatBytes(bytes), purpose)));
    }
  } else {
    MILLRACE_TRY(PinnedMemory memory, allocatePinned(m_pool, bytes, purpose, m_advice));
    data = memory.data;
    if (!memory.notice.empty()) {
      m_pageable.insert(data);
      if (m_notices.empty()) m_notices.push_back(std::move(memory.notice)); // the next ones would say the same
    }
  }
  use.used += bytes;
  use.peak = std::max(use.peak, use.used);
  return Buffer(*this, data, bytes, space);
}

void CudaDevice::release(void* data, Bytes bytes, MemorySpace space) noexcept {
  (void)cudaSetDevice(m_index);
  Lock lock(m_mutex);
  if (space == MemorySpace::Device)
    (void)cudaFree(data);
  else
    releasePinned(data, bytes, m_pageable.erase(data) == 0);
  m_use[static_cast<int>(space)].used -= bytes;
}

std::unique_ptr<Stream> CudaDevice::createStream(const std::string& name) {
  return std::make_unique<CudaStream>(*this, name);
}

HostSignal CudaDevice::createHostSignal() {
  cuda::check(cudaSetDevice(m_index), "choosing the GPU");
  return HostSignal(std::make_shared<CudaSignal>(m_words, m_failure));
}

std::vector<std::string> CudaDevice::notices() const {
  Lock lock(m_mutex);
  return m_notices;
}

void CudaDevice::limitLink(double bytesPerSecond) {
  cuda::check(cudaSetDevice(m_index), "choosing the GPU");
  m_link = std::make_unique<cuda::LinkLimit>(bytesPerSecond);
}

MemoryUse CudaDevice::memoryUse(MemorySpace space) const {
  Lock lock(m_mutex);
  return m_use[static_cast<int>(space)];
}

Result<std::unique_ptr<Device>> createCudaDevice(ThreadPool& pool, int index, Bytes deviceLimit, Bytes hostLimit,
                                                 HostMemoryAdvice advice) {
  return CudaDevice::create(pool, index, deviceLimit, hostLimit, std::move(advice));
}

} // namespace millrace
