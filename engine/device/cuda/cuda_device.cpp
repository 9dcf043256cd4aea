#include "device/cuda/cuda_device.h"

#include "device/cuda/cuda_error.h"
#include "device/cuda/cuda_stream.h"
#include "device/cuda/driver.h"
#include "device/cuda/pinned_memory.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace millrace {

namespace {

Status usable(int index) {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess)
    return tl::unexpected<Error>(cuda::cudaFailure(status, "looking for GPUs"));
  if (index < 0 || index >= count)
    return badInput(fmt::format("there is no GPU cuda:{}: this machine has {}", index,
                                count == 0 ? "none" : fmt::format("cuda:0 to cuda:{}", count - 1)),
                    "device");
  cudaDeviceProp properties{};
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, index); status != cudaSuccess)
    return tl::unexpected<Error>(cuda::cudaFailure(status, "asking for the GPU's properties"));
  constexpr int ampere = 8; // bf16 matrix units and asynchronous copies to shared memory
  if (properties.major < ampere)
    return failed(fmt::format("{} has compute capability {}.{}; training needs 8.0 (Ampere) or newer: use another GPU, "
                              "or train with --device cpu",
                              properties.name, properties.major, properties.minor));
  return cuda::checkWordWaits(index);
}

} // namespace

Result<std::unique_ptr<Device>> CudaDevice::create(ThreadPool& pool, int index, Bytes deviceLimit, Bytes hostLimit) {
  MILLRACE_CHECK(usable(index));
  try {
    return std::unique_ptr<Device>(new CudaDevice(pool, index, deviceLimit, hostLimit));
  } catch (const EngineException& problem) {
    return tl::unexpected<Error>(problem.error());
  }
}

CudaDevice::CudaDevice(ThreadPool& pool, int index, Bytes deviceLimit, Bytes hostLimit)
    : m_pool(pool),
      m_index(index),
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
    MILLRACE_TRY(data, allocatePinned(m_pool, bytes, purpose));
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
    releasePinned(data, bytes);
  m_use[static_cast<int>(space)].used -= bytes;
}

std::unique_ptr<Stream> CudaDevice::createStream(const std::string& name) {
  return std::make_unique<CudaStream>(*this, name);
}

HostSignal CudaDevice::createHostSignal() {
  cuda::check(cudaSetDevice(m_index), "choosing the GPU");
  return HostSignal(std::make_shared<CudaSignal>(m_words, m_failure));
}

MemoryUse CudaDevice::memoryUse(MemorySpace space) const {
  Lock lock(m_mutex);
  return m_use[static_cast<int>(space)];
}

Result<std::unique_ptr<Device>> createCudaDevice(ThreadPool& pool, int index, Bytes deviceLimit, Bytes hostLimit) {
  return CudaDevice::create(pool, index, deviceLimit, hostLimit);
}

} // namespace millrace
