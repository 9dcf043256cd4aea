// Mutex with clang's thread-safety annotations: each member that it guards is marked, and clang checks every access.
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define MILLRACE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define MILLRACE_THREAD_ATTRIBUTE(x)
#endif
#define MILLRACE_GUARDED_BY(x) MILLRACE_THREAD_ATTRIBUTE(guarded_by(x))
#define MILLRACE_REQUIRES(...) MILLRACE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))

namespace millrace {

class MILLRACE_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() MILLRACE_THREAD_ATTRIBUTE(acquire_capability()) { m_mutex.lock(); }
  void unlock() MILLRACE_THREAD_ATTRIBUTE(release_capability()) { m_mutex.unlock(); }

 private:
  friend class Condition;
  std::mutex m_mutex;
};

class MILLRACE_THREAD_ATTRIBUTE(scoped_lockable) Lock {
 public:
  explicit Lock(Mutex& mutex) MILLRACE_THREAD_ATTRIBUTE(acquire_capability(mutex)) : m_mutex(mutex) { m_mutex.lock(); }
  ~Lock() MILLRACE_THREAD_ATTRIBUTE(release_capability()) { m_mutex.unlock(); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Mutex& m_mutex;
};

/// A condition variable that waits on a Mutex already held by the caller.
class Condition {
 public:
  /// Call in a loop that tests the condition.
  void wait(Mutex& mutex) MILLRACE_REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.m_mutex, std::adopt_lock);
    m_condition.wait(held);
    held.release();
  }
  /// False when the time ran out first.
  template <class Rep, class Period>
  bool waitFor(Mutex& mutex, std::chrono::duration<Rep, Period> limit) MILLRACE_REQUIRES(mutex) {
    std::unique_lock<std::mutex> held(mutex.m_mutex, std::adopt_lock);
    const bool woken = m_condition.wait_for(held, limit) == std::cv_status::no_timeout;
    held.release();
    return woken;
  }
  void notifyOne() { m_condition.notify_one(); }
  void notifyAll() { m_condition.notify_all(); }

 private:
  std::condition_variable m_condition;
};

} // namespace millrace
