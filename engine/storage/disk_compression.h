// Whether what goes to a disk is made smaller first, and what came of it. Contents that are much alike, such as the
// first moments of all blocks, are of one kind, for which it is decided and counted.
#pragma once

#include "base/mutex.h"
#include "engine/disk_compression.h"
#include "storage/block_io.h"
#include "storage/granule_codec.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace millrace {

/// Of one kind since the beginning, in whole pages, which are what moves with compression and without.
struct CompressionUse {
  std::string kind;
  Bytes contents = 0; ///< written
  Bytes moved = 0;    ///< to the disk, for them
};

/// Any thread, several at once.
class DiskCompressor {
 public:
  /// threads: how many compress and expand side by side, at most; meter: of the disk, and must outlive this.
  DiskCompressor(DiskCompression mode, std::vector<std::string> kinds, int threads, const BlockMeter& meter);

  /// In place, as GranuleCodec::compress(): the bytes that stand for contents, or 0 where they stay as they are.
  Bytes compress(std::size_t kind, std::span<std::byte> contents, int width);
  /// As GranuleCodec::expand().
  bool expand(std::size_t kind, std::span<std::byte> contents, int width, Bytes stored);

  std::vector<CompressionUse> use() const;

 private:
  /// Means over the last granules; seconds and shares of a byte of contents.
  struct Kind {
    CompressionUse use;
    double movedShare = 0;
    double compressSeconds = 0;
    double expandSeconds = 0;
    std::int64_t compressed = 0; ///< granules that were tried
    std::int64_t expanded = 0;
    std::int64_t passed = 0; ///< granules since the last one that was tried
  };
  bool isWorthTrying(Kind& kind) const;
  std::unique_ptr<GranuleCodec> takeCodec();
  void giveBack(std::unique_ptr<GranuleCodec> codec);

  const DiskCompression m_mode;
  const int m_threads;
  const BlockMeter& m_meter;
  mutable Mutex m_mutex;
  std::vector<Kind> m_kinds MILLRACE_GUARDED_BY(m_mutex);
  std::vector<std::unique_ptr<GranuleCodec>> m_codecs MILLRACE_GUARDED_BY(m_mutex); ///< that nobody uses now
};

} // namespace millrace
