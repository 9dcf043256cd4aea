#include "base/thread_pool.h"

#include <algorithm>
#include <fmt/format.h>
#include <system_error>

namespace millrace {

namespace {
thread_local bool insideTask = false;
}

struct ThreadPool::Job {
  std::int64_t count = 0;
  Call call = nullptr;
  void* context = nullptr;
  std::atomic<std::int64_t> next{0};
  std::atomic<std::int64_t> finished{0};
  Mutex mutex;
  Condition done;
  std::exception_ptr error MILLRACE_GUARDED_BY(mutex);
};

ThreadPool::ThreadPool(int threads) {
  try {
    for (int i = 1; i < threads; ++i) m_workers.emplace_back([this] { work(); });
  } catch (const std::system_error& problem) { // a limit of processes or of memory
    end();
    throw std::system_error(problem.code(), fmt::format("{} threads cannot be started", threads));
  }
}

ThreadPool::~ThreadPool() {
  end();
}

void ThreadPool::end() {
  {
    Lock lock(m_mutex);
    m_stopping = true;
  }
  m_wake.notifyAll();
  for (std::thread& worker : m_workers) worker.join();
}

void ThreadPool::execute(Job& job) {
  insideTask = true;
  for (;;) {
    const std::int64_t index = job.next.fetch_add(1, std::memory_order_relaxed);
    if (index >= job.count) break;
    try {
      job.call(job.context, index);
    } catch (...) {
      Lock lock(job.mutex);
      if (!job.error) job.error = std::current_exception();
    }
    if (job.finished.fetch_add(1, std::memory_order_acq_rel) + 1 == job.count) {
      Lock lock(job.mutex);
      job.done.notifyAll();
    }
  }
  insideTask = false;
}

void ThreadPool::run(std::int64_t count, Call call, void* context) {
  if (count <= 0) return;
  if (count == 1 || insideTask || m_workers.empty()) {
    for (std::int64_t i = 0; i < count; ++i) call(context, i);
    return;
  }
  auto job = std::make_shared<Job>();
  job->count = count;
  job->call = call;
  job->context = context;
  {
    Lock lock(m_mutex);
    m_jobs.push_back(job);
  }
  if (count > 2)
    m_wake.notifyAll();
  else
    m_wake.notifyOne();
  execute(*job);
  {
    Lock lock(m_mutex);
    m_jobs.erase(std::remove(m_jobs.begin(), m_jobs.end(), job), m_jobs.end());
  }
  Lock lock(job->mutex);
  while (job->finished.load(std::memory_order_acquire) < count) job->done.wait(job->mutex);
  if (job->error) std::rethrow_exception(job->error);
}

void ThreadPool::work() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      Lock lock(m_mutex);
      for (;;) {
        const auto open = std::find_if(m_jobs.begin(), m_jobs.end(), [](const auto& j) {
          return j->next.load(std::memory_order_relaxed) < j->count;
        });
        if (open != m_jobs.end()) {
          job = *open;
          break;
        }
        if (m_stopping) return;
        m_wake.wait(m_mutex);
      }
    }
    execute(*job);
  }
}

} // namespace millrace
