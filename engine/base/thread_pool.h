// The one pool of compute threads in the process. Work is cut into tasks whose number and contents come from shapes
// alone; which thread runs a task never changes a bit of the result.
#pragma once

#include "base/mutex.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace millrace {

class ThreadPool {
 public:
  /// threads: how many threads work on one parallelFor, the calling thread included (at least 1).
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(m_workers.size()) + 1; }

  /// Calls task(i) once for every i in [0, count) and returns when all are done; the caller works too. Several threads
  /// may call it at once (the compute stream and the optimizer do): workers help the oldest call first. A call from
  /// inside a task runs inline. The first exception of a task is rethrown here after the others have finished.
  template <class Task>
  void parallelFor(std::int64_t count, Task&& task) {
    using Callable = std::remove_reference_t<Task>;
    run(
        count, [](void* context, std::int64_t i) { (*static_cast<Callable*>(context))(i); },
        const_cast<void*>(static_cast<const void*>(&task)));
  }

 private:
  struct Job;
  using Call = void (*)(void* context, std::int64_t index);
  void run(std::int64_t count, Call call, void* context);
  void work();
  void end();
  static void execute(Job& job);

  Mutex m_mutex;
  Condition m_wake;
  std::vector<std::shared_ptr<Job>> m_jobs MILLRACE_GUARDED_BY(m_mutex); // oldest first
  bool m_stopping MILLRACE_GUARDED_BY(m_mutex) = false;
  std::vector<std::thread> m_workers;
};

} // namespace millrace
