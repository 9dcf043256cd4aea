// DiskTier: the planes of blocks that live on disk, in files that mean nothing without this object. Whatever is read is
// what was written last, or an error that names the place: checksums and versions of all contents are in memory. Made
// and owned by the run; any thread may transfer, several at once, as long as nothing is written that somebody else
// transfers.
#pragma once

#include "base/thread_pool.h"
#include "storage/granule_table.h"
#include "storage/tier_files.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace millrace {

/// A plane of a block, known by its index among those the tier was made with.
struct DiskRange {
  std::string name; ///< for messages: "first moments of layers.3.mlp"
  Bytes bytes = 0;
};

/// Whole granules of a range; the last one of the range may be cut short where that ends.
struct DiskSlice {
  std::size_t range = 0;
  Bytes first = 0;
  Bytes bytes = 0;
};

/// memory begins at a multiple of pageBytes, and has room for slice.bytes rounded up to pages: what lies behind the
/// slice's end in the last page may be changed by a read.
struct DiskTransfer {
  DiskSlice slice;
  std::byte* memory = nullptr;
};

/// Auto is io_uring where state passes the system's cache by, and else threads, which copy on several cores. Without
/// io_uring it is threads in any case, and the log says why.
enum class DiskIo { Auto, Uring, Threads };

struct DiskTierOptions {
  std::vector<Path> directories; ///< one or more
  Bytes shardBytes = 512 * MiB;
  DiskIo io = DiskIo::Auto;
  int queueDepth = 64;    ///< requests of a granule under way at one time, at most
  std::string owner = {}; ///< the run, for people who find the files
};

struct DiskUse {
  BlockMeter::Use read, write;
  std::int64_t retries = 0; ///< granules that were read a second time
};

class DiskTier {
 public:
  /// Makes the files, see TierFiles::create(), whose errors it has. Files, pool and log must outlive the tier.
  static Result<std::unique_ptr<DiskTier>> create(FileSystem& files, const DiskTierOptions& options,
                                                  std::vector<DiskRange> ranges, ThreadPool& pool, Log& log);
  /// Removes the files. No transfer may be under way.
  ~DiskTier();

  /// Transfers under way. Their memory belongs to them until wait() has returned. Move-only; the destructor waits.
  class Pending {
   public:
    Pending(); ///< of nothing
    ~Pending();
    Pending(Pending&&) noexcept;
    Pending& operator=(Pending&&) noexcept;

    /// Returns when all is read, and is what was written last, or is on its way into the drive; or with the first
    /// error, when nothing is under way any more. Checks what was read on the pool. Of nothing from then on.
    Status wait();
    /// wait() would not wait for the drive.
    bool ready() const;

   private:
    friend class DiskTier;
    struct Operation;
    explicit Pending(std::unique_ptr<Operation> operation);
    std::unique_ptr<Operation> m_operation;
  };

  /// What was never written reads as zeros.
  Pending read(std::span<const DiskTransfer> transfers);
  /// Checksums are taken, on the pool, before it returns. After a failure the contents are those of before or mixed,
  /// which reading them finds out.
  Pending write(std::span<const DiskTransfer> transfers);

  /// Memory that transfers will use, for io_uring. Once, before any transfer; a refusal is told through the log.
  void registerMemory(std::span<const std::span<std::byte>> memory);

  const std::vector<DiskRange>& ranges() const { return m_ranges; }
  /// Of all files.
  Bytes fileBytes() const { return m_layout.totalBytes(); }
  DiskUse use() const;
  /// "io_uring, 64 requests at once, past the system's cache, 2 directories".
  std::string description() const;

 private:
  DiskTier(std::vector<DiskRange> ranges, TierLayout layout, std::unique_ptr<TierFiles> files, ThreadPool& pool,
           Log& log);
  void chooseIo(const DiskTierOptions& options);
  Pending start(BlockAction action, std::span<const DiskTransfer> transfers);

  std::vector<DiskRange> m_ranges;
  TierLayout m_layout;
  GranuleTable m_granules;
  std::unique_ptr<TierFiles> m_files;
  BlockMeter m_meter;
  std::unique_ptr<BlockIo> m_io;
  ThreadPool& m_pool;
  Log& m_log;
  std::atomic<std::int64_t> m_retries = 0;
};

} // namespace millrace
