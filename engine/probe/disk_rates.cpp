#include "probe/disk_rates.h"

#include "base/mutex.h"
#include "base/page_memory.h"
#include "base/random.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <thread>
#include <unistd.h>

namespace millrace {

namespace {

/// One thread's part: files are for one thread at a time.
struct Worker {
  std::unique_ptr<File> file;
  PageMemory memory;
  std::span<std::byte> buffer;
};

class DiskProbe {
 public:
  DiskProbe(FileSystem& files, const Path& folder, const DiskProbeOptions& options, const ProbeClock& clock)
      : m_files(files), m_folder(folder), m_options(options), m_clock(clock) {}
  ~DiskProbe() {
    m_workers.clear();
    if (m_named) (void)m_files.remove(m_path); // once more: nothing else can be done about it here
  }
  DiskProbe(const DiskProbe&) = delete;
  DiskProbe& operator=(const DiskProbe&) = delete;

  Result<DiskMeasurement> run() {
    if (!m_files.isDirectory(m_folder))
      return badInput(fmt::format("{}: is no folder; name an existing one on the disk to measure", m_folder.string()));
    MILLRACE_TRY(const Bytes free, m_files.freeSpace(m_folder));
    const Bytes most = std::min(m_options.mostBytes, free / 2) / m_options.request;
    if (most < 1)
      return failure(ErrorKind::OutOfSpace,
                     fmt::format("{}: {} are free, at least {} are needed to measure the disk", m_folder.string(),
                                 formatBytes(free), formatBytes(2 * m_options.request)));
    MILLRACE_CHECK(openFiles());
    MILLRACE_CHECK(prepareBuffers());

    // Blocks written for the first time must be found and recorded, too; state on a disk is written over and over.
    MILLRACE_TRY(const Pass laid, pass(most, most, &DiskProbe::writeOne));
    const Bytes requests = laid.requests;
    MILLRACE_TRY(const Pass written, pass(requests, most, &DiskProbe::writeOne));
    MILLRACE_TRY(const Pass read, pass(requests, 16 * most, &DiskProbe::readOne));
    const auto rate = [&](const Pass& p) {
      return static_cast<double>(p.requests * m_options.request) / std::max(p.seconds, 1e-9);
    };
    DiskMeasurement measurement;
    measurement.read = rate(read);
    measurement.write = rate(written);
    measurement.fileBytes = requests * m_options.request;
    measurement.direct = m_direct;
    return measurement;
  }

 private:
  struct Pass {
    Bytes requests = 0;
    double seconds = 0;
  };
  using Request = Status (DiskProbe::*)(Worker&, Bytes offset);

  Status openFiles() {
    for (int attempt = 0;; ++attempt) {
      m_path = m_folder / fmt::format(".millrace-probe-{}-{}", ::getpid(), attempt);
      if (!m_files.exists(m_path)) break;
    }
    m_named = true;
    for (int i = 0; i < m_options.threads; ++i) {
      auto file = m_files.open(m_path, m_direct ? OpenMode::ReadWriteDirect : OpenMode::ReadWrite);
      if (!file && i == 0 && m_direct) {
        m_direct = false;
        file = m_files.open(m_path, OpenMode::ReadWrite);
      }
      if (!file) return tl::unexpected<Error>(std::move(file.error()));
      m_workers.push_back({std::move(*file), {}, {}});
    }
    MILLRACE_CHECK(m_files.remove(m_path));
    m_named = false;
    return {};
  }

  /// Of random bytes, which no disk and no file system can make smaller.
  Status prepareBuffers() {
    Random random(1, "disk");
    const auto size = static_cast<std::size_t>(m_options.request);
    for (Worker& worker : m_workers) {
      worker.memory = allocatePages(m_options.request);
      if (!worker.memory) return failure(ErrorKind::DoesNotFit, "no memory to measure a disk with");
      worker.buffer = {worker.memory.get(), size};
      for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
        const std::uint64_t bits = random.next();
        std::memcpy(worker.buffer.data() + at, &bits, sizeof bits);
      }
    }
    return {};
  }

  Status writeOne(Worker& worker, Bytes offset) { return worker.file->write(worker.buffer, offset); }
  Status readOne(Worker& worker, Bytes offset) { return worker.file->read(worker.buffer, offset); }

  /// Requests one after the other, over and over within the first `length` of them, until time or `most` are up; every
  /// thread makes at least one. What was claimed is done when it returns, and on the disk.
  Result<Pass> pass(Bytes length, Bytes most, Request request) {
    std::atomic<Bytes> next = 0;
    Mutex mutex;
    std::optional<Error> error;
    const double began = m_clock();
    const auto work = [&](Worker& worker) {
      do {
        const Bytes index = next.fetch_add(1);
        if (index >= most) return;
        if (Status status = (this->*request)(worker, index % length * m_options.request); !status) {
          const Lock lock(mutex);
          if (!error) error = std::move(status.error());
          next = most;
        }
      } while (m_clock() - began < m_options.seconds);
    };
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i < m_workers.size(); ++i) threads.emplace_back(work, std::ref(m_workers[i]));
    work(m_workers.front());
    for (std::thread& thread : threads) thread.join();
    if (error) return tl::unexpected<Error>(std::move(*error));
    if (request == &DiskProbe::writeOne) MILLRACE_CHECK(m_workers.front().file->sync());
    return Pass{std::min(next.load(), most), m_clock() - began};
  }

  FileSystem& m_files;
  Path m_folder;
  DiskProbeOptions m_options;
  const ProbeClock& m_clock;
  Path m_path;
  bool m_named = false; ///< the file may have a name in the folder
  bool m_direct = true;
  std::vector<Worker> m_workers;
};

} // namespace

Result<DiskMeasurement> measureDisk(FileSystem& files, const Path& folder, const DiskProbeOptions& options,
                                    const ProbeClock& clock) {
  if (options.threads < 1 || options.request < 1 || options.request % pageBytes != 0)
    return badInput(fmt::format("a disk's measurement by {} threads in requests of {} bytes: expected 1 or more, and a "
                                "multiple of {}",
                                options.threads, options.request, pageBytes));
  return DiskProbe(files, folder, options, clock).run();
}

} // namespace millrace
