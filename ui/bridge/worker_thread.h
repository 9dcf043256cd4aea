// WorkerThread: one thread that does one thing after the other, for what belongs to the thread that made it.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace millrace::ui {

class WorkerThread {
 public:
  WorkerThread() : m_thread([this] { work(); }) {}
  /// Waits until everything that was asked for is done.
  ~WorkerThread() {
    post({});
    m_thread.join();
  }
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  /// Any thread. The work is destroyed on this object's thread.
  void post(std::function<void()> work) {
    {
      const std::lock_guard lock(m_mutex);
      m_waiting.push_back(std::move(work));
    }
    m_come.notify_one();
  }

 private:
  void work() {
    while (const std::function<void()> next = take()) next();
  }
  std::function<void()> take() {
    std::unique_lock lock(m_mutex);
    m_come.wait(lock, [this] { return !m_waiting.empty(); });
    std::function<void()> next = std::move(m_waiting.front());
    m_waiting.pop_front();
    return next;
  }

  std::mutex m_mutex; // guards what waits
  std::condition_variable m_come;
  std::deque<std::function<void()>> m_waiting; ///< empty ones end the thread
  std::thread m_thread;                        ///< last: everything is there when it begins
};

} // namespace millrace::ui
