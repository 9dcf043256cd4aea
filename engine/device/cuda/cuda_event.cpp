#include "device/cuda/cuda_event.h"

#include "device/cuda/cuda_error.h"

namespace millrace {

void CudaFailure::set(Error error) {
  Lock lock(m_mutex);
  if (!m_error) m_error = std::move(error);
}

void CudaFailure::throwIfSet() const {
  Lock lock(m_mutex);
  if (m_error) throw EngineException(*m_error);
}

CudaEventPool::~CudaEventPool() {
  Lock lock(m_mutex);
  for (cudaEvent_t event : m_free) (void)cudaEventDestroy(event);
}

cudaEvent_t CudaEventPool::take() {
  {
    Lock lock(m_mutex);
    if (!m_free.empty()) {
      const cudaEvent_t event = m_free.back();
      m_free.pop_back();
      return event;
    }
  }
  cudaEvent_t event = nullptr;
  cuda::check(cudaEventCreateWithFlags(&event, m_flags), "making an event");
  return event;
}

void CudaEventPool::giveBack(cudaEvent_t event) {
  Lock lock(m_mutex);
  m_free.push_back(event);
}

CudaEvent::CudaEvent(std::shared_ptr<CudaEventPool> pool, std::shared_ptr<CudaFailure> failure)
    : m_pool(std::move(pool)), m_failure(std::move(failure)), m_event(m_pool->take()) {}

CudaEvent::~CudaEvent() {
  // A recorded event may be recorded again while streams still wait for the point before: they keep waiting for that.
  m_pool->giveBack(m_event);
}

bool CudaEvent::ready() const {
  // A failure is for synchronize() to tell: whoever only asks is not kept waiting by it.
  return cudaEventQuery(m_event) != cudaErrorNotReady;
}

void CudaEvent::synchronize() {
  cuda::check(cudaEventSynchronize(m_event), "the work submitted to it");
  m_failure->throwIfSet();
}

} // namespace millrace
