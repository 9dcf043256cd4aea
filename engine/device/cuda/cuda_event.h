// Events of the CUDA device, and the one failure that a device can have: after it, nothing the device says is believed.
#pragma once

#include "base/mutex.h"
#include "device/stream.h"

#include <cuda_runtime_api.h>
#include <memory>
#include <optional>
#include <vector>

namespace millrace {

/// The first failure of work that the GPU cannot report itself: a host task that threw, an update that a stream waited
/// for and that was given up. Thread-safe.
class CudaFailure {
 public:
  void set(Error error);
  void throwIfSet() const;

 private:
  mutable Mutex m_mutex;
  std::optional<Error> m_error MILLRACE_GUARDED_BY(m_mutex);
};

/// CUDA events to be used again: making one costs far more than recording it. Thread-safe; outlives its events.
class CudaEventPool {
 public:
  explicit CudaEventPool(bool timed) : m_flags(timed ? cudaEventDefault : cudaEventDisableTiming) {}
  ~CudaEventPool();
  CudaEventPool(const CudaEventPool&) = delete;
  CudaEventPool& operator=(const CudaEventPool&) = delete;

  cudaEvent_t take();
  void giveBack(cudaEvent_t event);

 private:
  const unsigned m_flags;
  Mutex m_mutex;
  std::vector<cudaEvent_t> m_free MILLRACE_GUARDED_BY(m_mutex);
};

/// A point in a stream's work.
class CudaEvent final : public Event::State {
 public:
  CudaEvent(std::shared_ptr<CudaEventPool> pool, std::shared_ptr<CudaFailure> failure);
  ~CudaEvent() override;

  bool ready() const override;
  void synchronize() override;
  cudaEvent_t get() const { return m_event; }

 private:
  const std::shared_ptr<CudaEventPool> m_pool;
  const std::shared_ptr<CudaFailure> m_failure;
  const cudaEvent_t m_event;
};

} // namespace millrace
