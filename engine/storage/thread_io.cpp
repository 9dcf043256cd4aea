#include "storage/block_io.h"

#include <deque>
#include <fmt/format.h>
#include <thread>

namespace millrace {

namespace {

class ThreadBlockIo final : public BlockIo {
 public:
  ThreadBlockIo(std::span<const BlockFile> files, int threads, BlockMeter& meter) : m_files(files), m_meter(meter) {
    for (int i = 0; i < threads; ++i) m_threads.emplace_back([this] { work(); });
  }
  ~ThreadBlockIo() override {
    {
      const Lock lock(m_mutex);
      m_stopping = true;
    }
    m_wake.notifyAll();
    for (std::thread& thread : m_threads) thread.join();
  }

  void submit(const BlockRequest& request) override {
    request.group->begin();
    m_meter.begin(request.action);
    {
      const Lock lock(m_mutex);
      m_requests.push_back(request);
    }
    m_wake.notifyOne();
  }

  Status registerMemory(std::span<const std::span<std::byte>>) override { return {}; }

  std::string description() const override { return fmt::format("{} threads", m_threads.size()); }

 private:
  void work() {
    for (;;) {
      BlockRequest request;
      {
        const Lock lock(m_mutex);
        while (m_requests.empty() && !m_stopping) m_wake.wait(m_mutex);
        if (m_requests.empty()) return;
        request = m_requests.front();
        m_requests.pop_front();
      }
      Status status = serve(request);
      m_meter.end(request.action, request.bytes);
      request.group->end(request.tag, std::move(status));
    }
  }

  Status serve(const BlockRequest& request) const {
    File& file = *m_files[request.file].file;
    const std::span<std::byte> memory(request.memory, static_cast<std::size_t>(request.bytes));
    return request.action == BlockAction::Read ? file.read(memory, request.offset) : file.write(memory, request.offset);
  }

  std::span<const BlockFile> m_files;
  BlockMeter& m_meter;
  Mutex m_mutex;
  Condition m_wake;
  std::deque<BlockRequest> m_requests MILLRACE_GUARDED_BY(m_mutex);
  bool m_stopping MILLRACE_GUARDED_BY(m_mutex) = false;
  std::vector<std::thread> m_threads;
};

} // namespace

std::unique_ptr<BlockIo> threadBlockIo(std::span<const BlockFile> files, int threads, BlockMeter& meter) {
  return std::make_unique<ThreadBlockIo>(files, threads, meter);
}

} // namespace millrace
