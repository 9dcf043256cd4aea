// Streams of the CUDA device. What a stream did is read off timed events that it records where the kind of its work
// changes: copying, computing, standing still.
#pragma once

#include "device/cuda/cuda_event.h"
#include "device/cuda/cuda_signal.h"
#include "device/cuda/link_limit.h"

#include <deque>
#include <string>
#include <utility>

namespace millrace {

class CudaDevice;

class CudaStream final : public Stream {
 public:
  CudaStream(CudaDevice& device, std::string name);
  /// Finishes what was submitted: every host signal that it waits for must have been given or failed by then.
  ~CudaStream() override;

  Device& device() override;
  const std::string& name() const override { return m_name; }
  void wait(const Event& event, Stall cause) override;
  Event record() override;
  void copy(void* destination, const void* source, Bytes bytes) override;
  void zero(void* destination, Bytes bytes) override;
  void hostTask(std::function<void()> task) override;
  StreamUse use() const override;

  /// For a launch; marks the stream as busy from here on.
  cudaStream_t submit();

 private:
  enum class Doing { Nothing, Working, Copying, Standing };
  /// From one timed event to the next.
  struct Span {
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    Doing doing = Doing::Nothing;
    Stall cause = Stall::Order;
    Bytes bytes = 0;
  };

  void activate() const;
  /// What is submitted next is of this kind: ends the span before.
  void begin(Doing doing, Stall cause = Stall::Order);
  void harvest() const MILLRACE_REQUIRES(m_mutex);

  CudaDevice& m_device;
  std::unique_ptr<cuda::LinkLimit::Turn> m_turn; ///< null: the link is not limited
  const std::string m_name;
  cudaStream_t m_stream = nullptr;
  std::deque<std::pair<std::shared_ptr<CudaEvent>, std::shared_ptr<CudaSignal>>> m_awaited; ///< signals, until passed
  mutable Mutex m_mutex;
  Span m_open MILLRACE_GUARDED_BY(m_mutex); ///< begun, without an end
  mutable std::deque<Span> m_spans MILLRACE_GUARDED_BY(m_mutex);
  mutable StreamUse m_use MILLRACE_GUARDED_BY(m_mutex);
};

} // namespace millrace
