// Device, Buffer and Backend: one accelerator (or the CPU standing in for one) with memory of its own, bounded by a
// cap.
#pragma once

#include "base/result.h"
#include "base/thread_pool.h"
#include "base/units.h"
#include "device/stream.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace millrace {

class Kernels;

enum class DeviceKind { Cpu, Cuda };
enum class MemorySpace { Device, Host }; ///< Host: memory that this device copies from at full speed (pinned, on a GPU)

/// Owned memory, zero-filled at allocation, aligned to operandAlignment and on the host to pages. Move-only; freed in
/// the destructor, which must come before the device's.
class Buffer {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void release(void* data, Bytes bytes, MemorySpace space) noexcept = 0;
  };

  Buffer() = default;
  Buffer(Owner& owner, void* data, Bytes bytes, MemorySpace space)
      : m_owner(&owner), m_data(data), m_bytes(bytes), m_space(space) {}
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer() {
    if (m_owner) m_owner->release(m_data, m_bytes, m_space);
  }

  std::byte* data() const { return static_cast<std::byte*>(m_data); }
  Bytes bytes() const { return m_bytes; }

 private:
  void swap(Buffer& other) noexcept {
    std::swap(m_owner, other.m_owner);
    std::swap(m_data, other.m_data);
    std::swap(m_bytes, other.m_bytes);
    std::swap(m_space, other.m_space);
  }
  Owner* m_owner = nullptr;
  void* m_data = nullptr;
  Bytes m_bytes = 0;
  MemorySpace m_space = MemorySpace::Host;
};

struct MemoryUse {
  Bytes limit = 0;
  Bytes used = 0;
  Bytes peak = 0;
};

/// Thread-safe, except that a Stream has one submitter at a time.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;
  /// "cpu", "NVIDIA H200".
  virtual std::string name() const = 0;
  /// DoesNotFit, with what was asked, for what, and what is left, when the cap would be passed.
  virtual Result<Buffer> allocate(Bytes bytes, MemorySpace space, const std::string& purpose) = 0;
  virtual std::unique_ptr<Stream> createStream(const std::string& name) = 0;
  virtual HostSignal createHostSignal() = 0;
  virtual Kernels& kernels() = 0;
  virtual MemoryUse memoryUse(MemorySpace space) const = 0;
  /// What a person should know of how it came out, such as host memory that is copied from more slowly.
  virtual std::vector<std::string> notices() const { return {}; }
  /// From now on copies between host and device go at this rate at most, each way, as over a slower link; for
  /// measurements. Before the first stream is made. Nothing on the CPU, which has no link.
  virtual void limitLink(double /*bytesPerSecond*/) {}
};

/// The CPU standing in for an accelerator: its device memory is a capped part of RAM, and every stream has its own
/// thread, so prefetch, eviction and compute overlap and are bounded as on a GPU. Kernels run on the pool, which must
/// outlive it.
std::unique_ptr<Device> createCpuDevice(ThreadPool& pool, Bytes deviceLimit, Bytes hostLimit);

/// Called for host memory before it is touched: to say which pages it had best be made of. False: without effect.
using HostMemoryAdvice = std::function<bool(void* data, Bytes bytes)>;

/// The NVIDIA GPU cuda:index. Its device memory is capped as the CPU's is; what its driver and libraries take besides
/// is not counted. Errors: a build without CUDA, no driver or one too old, no such GPU or one that is not supported, no
/// memory. The pool touches host memory and must outlive the device. advice: optional.
Result<std::unique_ptr<Device>> createCudaDevice(ThreadPool& pool, int index, Bytes deviceLimit, Bytes hostLimit,
                                                 HostMemoryAdvice advice = {});

/// "cpu" or "cuda:N". Errors: BadInput for another name; createCudaDevice()'s.
Result<std::unique_ptr<Device>> openDevice(const std::string& name, ThreadPool& pool, Bytes deviceLimit,
                                           Bytes hostLimit);

/// DoesNotFit for Device::allocate() where a cap would be passed.
tl::unexpected<Error> refusal(Bytes bytes, MemorySpace space, const std::string& purpose, const MemoryUse& use);

} // namespace millrace
