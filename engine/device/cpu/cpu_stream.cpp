#include "device/cpu/cpu_stream.h"

#include <cassert>
#include <chrono>
#include <cstring>

namespace millrace {

bool CpuEvent::ready() const {
  Lock lock(m_mutex);
  return m_done;
}

void CpuEvent::finish(std::optional<Error> error) {
  Lock lock(m_mutex);
  if (m_done) return;
  m_done = true;
  m_error = std::move(error);
  m_happened.notifyAll();
}

std::optional<Error> CpuEvent::await() {
  Lock lock(m_mutex);
  while (!m_done) m_happened.wait(m_mutex);
  return m_error;
}

void CpuEvent::synchronize() {
  if (auto error = await()) throw EngineException(std::move(*error));
}

CpuStream::CpuStream(Device& device, std::string name)
    : m_device(device), m_name(std::move(name)), m_thread([this] { work(); }) {}

CpuStream::~CpuStream() {
  {
    Lock lock(m_mutex);
    m_stopping = true;
  }
  m_submitted.notifyOne();
  m_thread.join();
}

void CpuStream::submit(Task task) {
  Lock lock(m_mutex);
  m_tasks.push_back(std::move(task));
  m_submitted.notifyOne();
}

void CpuStream::wait(const Event& event, Stall cause) {
  if (event.ready() && !event.state()) return;
  auto state = std::dynamic_pointer_cast<CpuEvent>(event.state());
  assert(state && "an event of another kind of device");
  submit(Wait{std::move(state), cause});
}

Event CpuStream::record() {
  auto event = std::make_shared<CpuEvent>();
  submit(Record{event});
  return Event(event);
}

void CpuStream::copy(void* destination, const void* source, Bytes bytes) {
  if (bytes > 0) submit(Copy{destination, source, bytes});
}

void CpuStream::zero(void* destination, Bytes bytes) {
  if (bytes > 0) submit(Zero{destination, bytes});
}

void CpuStream::hostTask(std::function<void()> task) {
  submit(std::move(task));
}

StreamUse CpuStream::use() const {
  Lock lock(m_mutex);
  return m_use;
}

void CpuStream::work() {
  for (;;) {
    Task task;
    {
      Lock lock(m_mutex);
      while (m_tasks.empty() && !m_stopping) m_submitted.wait(m_mutex);
      if (m_tasks.empty()) return;
      task = std::move(m_tasks.front());
      m_tasks.pop_front();
    }
    try {
      execute(task);
    } catch (const EngineException& problem) {
      m_error = problem.error();
    } catch (const std::exception& problem) {
      m_error = Error{ErrorKind::Failed, m_name + " stream: " + problem.what()};
    }
  }
}

void CpuStream::execute(Task& task) {
  if (const auto* record = std::get_if<Record>(&task)) {
    if (m_error)
      record->event->fail(*m_error);
    else
      record->event->signal();
    return;
  }
  if (m_error) return;
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  if (const auto* wait = std::get_if<Wait>(&task)) {
    m_error = wait->event->await();
    const double stalled = seconds();
    Lock lock(m_mutex);
    m_use.stallSeconds[static_cast<std::size_t>(wait->cause)] += stalled;
  } else if (const auto* copy = std::get_if<Copy>(&task)) {
    std::memcpy(copy->destination, copy->source, static_cast<std::size_t>(copy->bytes));
    const double busy = seconds();
    Lock lock(m_mutex);
    m_use.copiedBytes += copy->bytes;
    m_use.copySeconds += busy;
    m_use.busySeconds += busy;
  } else {
    if (const auto* zero = std::get_if<Zero>(&task))
      std::memset(zero->destination, 0, static_cast<std::size_t>(zero->bytes));
    else
      std::get<std::function<void()>>(task)();
    const double busy = seconds();
    Lock lock(m_mutex);
    m_use.busySeconds += busy;
  }
}

} // namespace millrace
