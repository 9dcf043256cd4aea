// Host signals on the CUDA device: words of pinned memory that the host writes and streams wait for, so that no thread
// has to stand between a host update and the copy that needs it.
#pragma once

#include "device/cuda/cuda_event.h"

#include <atomic>
#include <cstdint>
#include <vector>

namespace millrace {

/// Pinned words, used again once nothing refers to them. Thread-safe; outlives its words.
class CudaSignalWords {
 public:
  ~CudaSignalWords();

  std::uint32_t* take();
  void giveBack(std::uint32_t* word);

 private:
  Mutex m_mutex;
  std::vector<std::uint32_t*> m_pages MILLRACE_GUARDED_BY(m_mutex);
  std::vector<std::uint32_t*> m_free MILLRACE_GUARDED_BY(m_mutex);
};

/// Streams that wait for it keep it alive until they have passed it.
class CudaSignal final : public HostSignal::State {
 public:
  CudaSignal(std::shared_ptr<CudaSignalWords> words, std::shared_ptr<CudaFailure> failure);
  ~CudaSignal() override;

  bool ready() const override;
  void synchronize() override;
  void signal() override;
  /// Streams go on as after signal(), since nothing can stop them; what they then do is not believed.
  void fail(Error error) override;

  /// A stream is about to wait: its later work depends on the signal's outcome.
  void addDependent();
  /// Where the GPU sees the word; it is 1 when signalled.
  const std::uint32_t* word() const { return m_word; }

 private:
  void announce();

  const std::shared_ptr<CudaSignalWords> m_words;
  const std::shared_ptr<CudaFailure> m_failure;
  std::uint32_t* const m_word;
  mutable Mutex m_mutex;
  Condition m_happened;
  bool m_done MILLRACE_GUARDED_BY(m_mutex) = false;
  bool m_hasDependents MILLRACE_GUARDED_BY(m_mutex) = false;
  std::optional<Error> m_error MILLRACE_GUARDED_BY(m_mutex);
};

} // namespace millrace
