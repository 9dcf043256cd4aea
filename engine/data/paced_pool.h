// The pool as a guest uses it: so few tasks at once that whoever computes finds most of its threads free; all of them
// while somebody waits for the guest. One thread at a time, which the pool allows any number of.
#pragma once

#include "base/thread_pool.h"

#include <algorithm>
#include <functional>

namespace millrace {

class PacedPool {
 public:
  /// hurried: asked before each round of tasks; without it always. The pool must outlive this.
  explicit PacedPool(ThreadPool& pool, std::function<bool()> hurried = {})
      : m_pool(pool), m_hurried(std::move(hurried)) {}

  int threads() const { return m_pool.threads(); }

  template <class Task>
  void parallelFor(std::int64_t count, Task&& task) {
    for (std::int64_t first = 0; first < count;) {
      const std::int64_t most = m_hurried && !m_hurried() ? std::max(1, threads() / 4) : roundsAtOnce * threads();
      const std::int64_t now = std::min(most, count - first);
      m_pool.parallelFor(now, [&](std::int64_t i) { task(first + i); });
      first += now;
    }
  }

 private:
  static constexpr std::int64_t roundsAtOnce = 8; ///< so that threads seldom wait for the slowest

  ThreadPool& m_pool;
  std::function<bool()> m_hurried;
};

} // namespace millrace
