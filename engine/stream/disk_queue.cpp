#include "stream/disk_queue.h"

namespace millrace {

DiskQueue::DiskQueue(DiskTier& tier) : m_tier(tier), m_thread([this] { work(); }) {}

DiskQueue::~DiskQueue() {
  {
    Lock lock(m_mutex);
    m_stopping = true;
    for (const DiskOperation& operation : m_operations)
      operation.done.fail({ErrorKind::Interrupted, "the run was stopped before this transfer from or to the disk"});
    m_operations.clear();
  }
  m_submitted.notifyOne();
  m_thread.join();
}

void DiskQueue::submit(DiskOperation operation) {
  Lock lock(m_mutex);
  m_operations.push_back(std::move(operation));
  m_submitted.notifyOne();
}

bool DiskQueue::take(DiskOperation& operation) {
  for (;;) {
    {
      Lock lock(m_mutex);
      while (m_operations.empty() && !m_stopping && m_begun.empty()) m_submitted.wait(m_mutex);
      if (!m_operations.empty()) {
        operation = std::move(m_operations.front());
        m_operations.pop_front();
        return true;
      }
      if (m_begun.empty()) return false;
    }
    finishOldest();
  }
}

void DiskQueue::work() {
  DiskOperation operation;
  while (take(operation)) {
    try {
      for (const Event& event : operation.after) {
        while (!event.ready() && !m_begun.empty()) finishOldest(); // it may depend on them
        event.synchronize();
      }
      begin(operation);
    } catch (const EngineException& problem) {
      operation.done.fail(problem.error());
    } catch (const std::exception& problem) {
      operation.done.fail({ErrorKind::Failed, std::string("a transfer from or to the disk: ") + problem.what()});
    }
  }
}

void DiskQueue::begin(DiskOperation& operation) {
  const std::span transfers(&operation.transfer, 1);
  m_begun.push_back(
      {operation.kind == DiskOperation::Kind::Read ? m_tier.read(transfers) : m_tier.write(transfers), operation.done});
}

void DiskQueue::finishOldest() {
  Begun oldest = std::move(m_begun.front());
  m_begun.pop_front();
  if (const Status status = oldest.pending.wait())
    oldest.done.signal();
  else
    oldest.done.fail(status.error());
}

} // namespace millrace
