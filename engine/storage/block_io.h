// Reads and writes of blocks of files that go on beside the caller: the interface that io_uring and threads of our own
// share. Requests are served in about the order in which they were submitted, several at once.
#pragma once

#include "base/file.h"
#include "base/mutex.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace millrace {

enum class BlockAction { Read, Write };

/// Bytes and busy time each way: the time in which at least one request was under way. Any thread.
class BlockMeter {
 public:
  struct Use {
    Bytes bytes = 0;
    double seconds = 0;
  };
  void begin(BlockAction action);
  void end(BlockAction action, Bytes bytes);
  Use use(BlockAction action) const;

 private:
  struct Way {
    Use use;
    int underWay = 0;
    double since = 0; ///< seconds of the steady clock, while something is under way
  };
  mutable Mutex m_mutex;
  Way m_ways[2] MILLRACE_GUARDED_BY(m_mutex);
};

/// Requests whose end somebody waits for. Must outlive them. Any thread.
class BlockGroup {
 public:
  struct Failure {
    std::uint32_t tag = 0;
    Error error;
  };

  /// One more request of the group is about to be submitted.
  void begin();
  /// It has come to an end.
  void end(std::uint32_t tag, Status status);

  /// Returns when every request has ended; only after the last one was submitted.
  void wait();
  bool ended() const;
  /// After wait(): in the order in which they happened.
  const std::vector<Failure>& failures() const { return m_failures; }

 private:
  mutable Mutex m_mutex;
  Condition m_ended;
  int m_underWay MILLRACE_GUARDED_BY(m_mutex) = 0;
  std::vector<Failure> m_failures; // under the mutex until wait() has returned
};

struct BlockRequest {
  BlockAction action = BlockAction::Read;
  std::size_t file = 0; ///< index among the files
  Bytes offset = 0;     ///< a page's begin, as the memory's; bytes are whole pages
  std::byte* memory = nullptr;
  Bytes bytes = 0;
  BlockGroup* group = nullptr;
  std::uint32_t tag = 0; ///< of the failure, if it fails
};

struct BlockFile {
  Path path;
  std::unique_ptr<File> file;
};

class BlockIo {
 public:
  /// Every request must have ended.
  virtual ~BlockIo() = default;
  /// Returns at once; any thread. The request's group learns of the end, which includes what was short: that is gone on
  /// with, and the end of the file is an error.
  virtual void submit(const BlockRequest& request) = 0;
  /// Memory that requests will use, for those who gain by knowing. Once, with nothing under way. An error says why it
  /// is done without.
  virtual Status registerMemory(std::span<const std::span<std::byte>> memory) = 0;
  /// "io_uring, 64 requests at once".
  virtual std::string description() const = 0;
};

/// By threads that use File::read() and write(). The files must outlive it, as the meter must.
std::unique_ptr<BlockIo> threadBlockIo(std::span<const BlockFile> files, int threads, BlockMeter& meter);
/// By io_uring, `depth` requests at once. The error says why not: the system forbids it, the files are not the
/// system's.
Result<std::unique_ptr<BlockIo>> uringBlockIo(std::span<const BlockFile> files, int depth, BlockMeter& meter);

} // namespace millrace
