// Streams of the CPU device: each has one thread that takes its tasks in order. Waiting for an event blocks that thread
// alone, so copies and compute overlap as they do on a GPU.
#pragma once

#include "base/mutex.h"
#include "device/stream.h"

#include <deque>
#include <optional>
#include <thread>
#include <variant>

namespace millrace {

/// Set once, to success or failure, by a stream or by the host.
class CpuEvent final : public HostSignal::State {
 public:
  bool ready() const override;
  void synchronize() override;
  void signal() override { finish(std::nullopt); }
  void fail(Error error) override { finish(std::move(error)); }

  /// Blocks until it has happened; the error of the work before it, if that failed.
  std::optional<Error> await();

 private:
  void finish(std::optional<Error> error);

  mutable Mutex m_mutex;
  Condition m_happened;
  bool m_done MILLRACE_GUARDED_BY(m_mutex) = false;
  std::optional<Error> m_error MILLRACE_GUARDED_BY(m_mutex);
};

/// Owned by whoever created it; destroyed before the buffers it works on. The destructor finishes what was submitted,
/// so every host signal that a task waits for must have been given or failed by then.
class CpuStream final : public Stream {
 public:
  CpuStream(Device& device, std::string name);
  ~CpuStream() override;

  Device& device() override { return m_device; }
  const std::string& name() const override { return m_name; }
  void wait(const Event& event, Stall cause) override;
  Event record() override;
  void copy(void* destination, const void* source, Bytes bytes) override;
  void zero(void* destination, Bytes bytes) override;
  void hostTask(std::function<void()> task) override;
  StreamUse use() const override;

 private:
  struct Copy {
    void* destination;
    const void* source;
    Bytes bytes;
  };
  struct Zero {
    void* destination;
    Bytes bytes;
  };
  struct Wait {
    std::shared_ptr<CpuEvent> event;
    Stall cause;
  };
  struct Record {
    std::shared_ptr<CpuEvent> event;
  };
  using Task = std::variant<std::function<void()>, Copy, Zero, Wait, Record>;

  void submit(Task task);
  void work();
  void execute(Task& task);

  Device& m_device;
  const std::string m_name;
  mutable Mutex m_mutex;
  Condition m_submitted;
  std::deque<Task> m_tasks MILLRACE_GUARDED_BY(m_mutex);
  bool m_stopping MILLRACE_GUARDED_BY(m_mutex) = false;
  StreamUse m_use MILLRACE_GUARDED_BY(m_mutex);
  std::optional<Error> m_error; ///< the stream's thread alone: after a failure nothing more is carried out
  std::thread m_thread;
};

} // namespace millrace
