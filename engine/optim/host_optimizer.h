// HostOptimizer: AdamW where the state lives. One thread takes updates in order, waits for each one's gradient to land,
// runs it on the pool and signals the block ready, while the device computes something else. Submitted to by the run's
// thread.
#pragma once

#include "base/mutex.h"
#include "base/thread_pool.h"
#include "device/cpu/ops/adamw.h"
#include "device/kernels.h"
#include "device/stream.h"

#include <deque>
#include <thread>
#include <vector>

namespace millrace {

struct HostUpdate {
  Event landed;                  ///< the gradient is in host memory
  std::vector<AdamWArgs> ranges; ///< disjoint; scalars filled in
  HostSignal done;
};

class HostOptimizer {
 public:
  explicit HostOptimizer(ThreadPool& pool, AdamWIsa isa = bestAdamWIsa());
  /// Updates not begun are failed, so that nothing waits for them for ever.
  ~HostOptimizer();

  void submit(HostUpdate update);
  /// Seconds spent in AdamW since the beginning.
  double busySeconds() const;

 private:
  void work();
  void execute(const HostUpdate& update);

  ThreadPool& m_pool;
  const AdamWIsa m_isa;
  mutable Mutex m_mutex;
  Condition m_submitted;
  std::deque<HostUpdate> m_updates MILLRACE_GUARDED_BY(m_mutex);
  bool m_stopping MILLRACE_GUARDED_BY(m_mutex) = false;
  double m_busySeconds MILLRACE_GUARDED_BY(m_mutex) = 0;
  std::thread m_thread;
};

} // namespace millrace
