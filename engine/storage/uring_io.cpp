#include "base/page_memory.h"
#include "storage/block_io.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <liburing.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>

namespace millrace {

namespace {

tl::unexpected<Error> refusal(std::string_view what, int code) {
  return failed(fmt::format("io_uring: {}: {}", what, std::strerror(code)));
}

/// One thread of its own is all that touches the ring: requests of a thread that ends are cancelled by the kernel, and
/// those who submit may end before their requests do.
class UringBlockIo final : public BlockIo {
 public:
  UringBlockIo(std::span<const BlockFile> files, int depth, BlockMeter& meter)
      : m_files(files), m_meter(meter), m_slots(static_cast<std::size_t>(depth)) {
    for (std::size_t i = m_slots.size(); i > 0; --i) m_free.push_back(i - 1);
  }

  ~UringBlockIo() override {
    if (m_thread.joinable()) {
      {
        const Lock lock(m_mutex);
        m_stopping = true;
      }
      wake();
      m_thread.join();
    }
    if (m_event >= 0) ::close(m_event);
    if (m_ringMade) io_uring_queue_exit(&m_ring);
  }

  Status begin() {
    std::vector<int> descriptors;
    for (const BlockFile& file : m_files) {
      descriptors.push_back(file.file->descriptor());
      if (descriptors.back() < 0)
        return failed(fmt::format("io_uring: {} is no file of the system", file.path.string()));
    }
    const auto entries = static_cast<unsigned>(m_slots.size() + 1); // and the wake-up
    if (const int code = io_uring_queue_init(entries, &m_ring, 0); code < 0)
      return refusal("the system refuses it", -code);
    m_ringMade = true;
    io_uring_probe* probe = io_uring_get_probe_ring(&m_ring);
    const bool knows = probe && io_uring_opcode_supported(probe, IORING_OP_READ) != 0;
    io_uring_free_probe(probe);
    if (!knows) return failed("io_uring: this kernel's is too old");
    m_event = ::eventfd(0, EFD_CLOEXEC);
    if (m_event < 0) return refusal("no event to wait for", errno);
    m_fixedFiles = io_uring_register_files(&m_ring, descriptors.data(), static_cast<unsigned>(descriptors.size())) == 0;
    m_thread = std::thread([this] { serve(); });
    return {};
  }

  void submit(const BlockRequest& request) override {
    request.group->begin();
    m_meter.begin(request.action);
    bool sleeping = false;
    {
      const Lock lock(m_mutex);
      m_requests.push_back(request);
      std::swap(sleeping, m_sleeping);
    }
    if (sleeping) wake();
  }

  Status registerMemory(std::span<const std::span<std::byte>> memory) override {
    // Before 5.13 the kernel waits for all requests first, and the wake-up is always under way.
    if ((m_ring.features & IORING_FEAT_RSRC_TAGS) == 0)
      return failed("io_uring: this kernel's takes no buffers while it runs; done without");
    std::vector<iovec> buffers;
    Bytes total = 0;
    for (const std::span<std::byte>& part : memory) {
      buffers.push_back({part.data(), part.size()});
      total += static_cast<Bytes>(part.size());
    }
    if (buffers.empty()) return {};
    const int code = io_uring_register_buffers(&m_ring, buffers.data(), static_cast<unsigned>(buffers.size()));
    if (code < 0)
      return failed(
          fmt::format("io_uring: {} of buffers are not registered, which costs a little speed: {} (`ulimit -l` "
                      "says how much memory may be locked)",
                      formatBytes(total), std::strerror(-code)));
    const Lock lock(m_mutex);
    m_buffers = std::move(buffers);
    return {};
  }

  std::string description() const override {
    const Lock lock(m_mutex);
    return fmt::format("io_uring, {} requests at once{}", m_slots.size(),
                       m_buffers.empty() ? "" : ", registered buffers");
  }

 private:
  struct Slot {
    BlockRequest request;
    Bytes done = 0;
  };
  static constexpr std::uint64_t wakeUp = ~std::uint64_t{0};

  void wake() const {
    const std::uint64_t one = 1;
    while (::write(m_event, &one, sizeof one) < 0 && errno == EINTR) {
    }
  }

  void serve() {
    awaitWakeUp();
    for (;;) {
      {
        const Lock lock(m_mutex);
        while (!m_requests.empty() && !m_free.empty()) {
          const std::size_t slot = m_free.back();
          m_free.pop_back();
          m_slots[slot] = {m_requests.front(), 0};
          m_requests.pop_front();
          prepare(slot);
        }
        if (m_stopping && m_free.size() == m_slots.size()) return;
        m_sleeping = true;
      }
      io_uring_submit_and_wait(&m_ring, 1); // interrupted or refused for now: tried again with the next round
      io_uring_cqe* completion = nullptr;
      while (io_uring_peek_cqe(&m_ring, &completion) == 0) {
        const std::uint64_t data = io_uring_cqe_get_data64(completion);
        const int result = completion->res;
        io_uring_cqe_seen(&m_ring, completion);
        if (data == wakeUp) {
          awaitWakeUp();
        } else {
          complete(static_cast<std::size_t>(data), result);
        }
      }
    }
  }

  void awaitWakeUp() {
    io_uring_sqe* entry = io_uring_get_sqe(&m_ring); // the ring has one more than there are slots
    io_uring_prep_read(entry, m_event, &m_eventCount, sizeof m_eventCount, 0);
    io_uring_sqe_set_data64(entry, wakeUp);
  }

  void prepare(std::size_t slot) {
    const BlockRequest& request = m_slots[slot].request;
    const Bytes done = m_slots[slot].done;
    std::byte* memory = request.memory + done;
    const auto bytes = static_cast<unsigned>(request.bytes - done);
    const auto offset = static_cast<std::uint64_t>(request.offset + done);
    const int descriptor = m_fixedFiles ? static_cast<int>(request.file) : m_files[request.file].file->descriptor();
    const int buffer = bufferOf(memory, bytes);
    io_uring_sqe* entry = io_uring_get_sqe(&m_ring);
    if (request.action == BlockAction::Read && buffer >= 0) {
      io_uring_prep_read_fixed(entry, descriptor, memory, bytes, offset, buffer);
    } else if (request.action == BlockAction::Read) {
      io_uring_prep_read(entry, descriptor, memory, bytes, offset);
    } else if (buffer >= 0) {
      io_uring_prep_write_fixed(entry, descriptor, memory, bytes, offset, buffer);
    } else {
      io_uring_prep_write(entry, descriptor, memory, bytes, offset);
    }
    if (m_fixedFiles) io_uring_sqe_set_flags(entry, IOSQE_FIXED_FILE);
    io_uring_sqe_set_data64(entry, slot);
  }

  /// The registered buffer that holds the memory, or -1.
  int bufferOf(const std::byte* memory, std::size_t bytes) const {
    for (std::size_t i = 0; i < m_buffers.size(); ++i) {
      const auto* begin = static_cast<const std::byte*>(m_buffers[i].iov_base);
      if (memory >= begin && memory + bytes <= begin + m_buffers[i].iov_len) return static_cast<int>(i);
    }
    return -1;
  }

  /// result: bytes, or an error's negative number.
  void complete(std::size_t index, int result) {
    Slot& slot = m_slots[index];
    const BlockRequest& request = slot.request;
    if (result > 0) slot.done += result;
    const bool goesOn = (result > 0 && slot.done < request.bytes) || result == -EINTR || result == -EAGAIN;
    if (goesOn) {
      slot.done = slot.done / pageBytes * pageBytes; // direct access goes on at a page
      prepare(index);
      return;
    }
    Status status;
    const Bytes at = request.offset + slot.done;
    const bool reads = request.action == BlockAction::Read;
    const Path& path = m_files[request.file].path;
    if (result < 0) {
      status = systemError(path, fmt::format("{} at byte {}", reads ? "read" : "write", at), -result);
    } else if (slot.done < request.bytes) {
      status = failed(fmt::format("{}: ends at byte {}, expected {} bytes from byte {}: the file is truncated",
                                  path.string(), at, request.bytes, request.offset));
    }
    BlockGroup& group = *request.group;
    const std::uint32_t tag = request.tag;
    m_meter.end(request.action, request.bytes);
    {
      const Lock lock(m_mutex);
      m_free.push_back(index);
    }
    group.end(tag, std::move(status));
  }

  std::span<const BlockFile> m_files;
  BlockMeter& m_meter;
  io_uring m_ring = {};
  bool m_ringMade = false;
  bool m_fixedFiles = false;
  int m_event = -1;               ///< written to by those who submit; the ring always has a read of it
  std::uint64_t m_eventCount = 0; ///< where that read goes
  std::vector<Slot> m_slots;      // the ring's thread alone
  mutable Mutex m_mutex;
  std::vector<std::size_t> m_free MILLRACE_GUARDED_BY(m_mutex); ///< slots
  std::deque<BlockRequest> m_requests MILLRACE_GUARDED_BY(m_mutex);
  std::vector<iovec> m_buffers;                         // changed under the mutex, with nothing under way
  bool m_sleeping MILLRACE_GUARDED_BY(m_mutex) = false; ///< or about to
  bool m_stopping MILLRACE_GUARDED_BY(m_mutex) = false;
  std::thread m_thread;
};

} // namespace

Result<std::unique_ptr<BlockIo>> uringBlockIo(std::span<const BlockFile> files, int depth, BlockMeter& meter) {
  auto io = std::make_unique<UringBlockIo>(files, depth, meter);
  MILLRACE_CHECK(io->begin());
  return io;
}

} // namespace millrace
