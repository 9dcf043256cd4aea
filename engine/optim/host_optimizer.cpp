#include "optim/host_optimizer.h"

#include <chrono>

namespace millrace {

HostOptimizer::HostOptimizer(ThreadPool& pool, AdamWIsa isa) : m_pool(pool), m_isa(isa), m_thread([this] { work(); }) {}

HostOptimizer::~HostOptimizer() {
  {
    Lock lock(m_mutex);
    m_stopping = true;
    for (const HostUpdate& update : m_updates)
      update.done.fail({ErrorKind::Interrupted, "the optimizer was stopped before this update"});
    m_updates.clear();
  }
  m_submitted.notifyOne();
  m_thread.join();
}

void HostOptimizer::submit(HostUpdate update) {
  Lock lock(m_mutex);
  m_updates.push_back(std::move(update));
  m_submitted.notifyOne();
}

double HostOptimizer::busySeconds() const {
  Lock lock(m_mutex);
  return m_busySeconds;
}

void HostOptimizer::work() {
  for (;;) {
    HostUpdate update;
    {
      Lock lock(m_mutex);
      while (m_updates.empty() && !m_stopping) m_submitted.wait(m_mutex);
      if (m_updates.empty()) return;
      update = std::move(m_updates.front());
      m_updates.pop_front();
    }
    try {
      update.landed.synchronize();
      execute(update);
      update.done.signal();
    } catch (const EngineException& problem) {
      update.done.fail(problem.error());
    } catch (const std::exception& problem) {
      update.done.fail({ErrorKind::Failed, std::string("AdamW on the host: ") + problem.what()});
    }
  }
}

void HostOptimizer::execute(const HostUpdate& update) {
  const auto start = std::chrono::steady_clock::now();
  adamWUpdate(m_pool, update.ranges, m_isa);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Lock lock(m_mutex);
  m_busySeconds += seconds;
}

} // namespace millrace
