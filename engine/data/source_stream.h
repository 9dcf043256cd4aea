// The bytes of a source file from its beginning to its end, decompressed where its name ends in .zst. One thread.
#pragma once

#include "base/file.h"
#include "base/hash.h"
#include "data/zstd_decoder.h"

#include <memory>
#include <optional>
#include <vector>

namespace millrace {

class SourceStream {
 public:
  static Result<std::unique_ptr<SourceStream>> open(FileSystem& files, const Path& path);

  /// Fills `out` from the front; gives how many bytes, fewer than asked for at the end alone. Errors name the file.
  Result<std::size_t> read(std::span<std::byte> out);
  /// Nothing is left to read.
  bool atEnd() const;
  /// Of the file itself.
  Bytes fileBytesRead() const { return m_offset; }
  /// XXH3-128 of the file's own bytes so far.
  std::string hash() const { return m_hasher.hex(); }

 private:
  SourceStream(Path path, std::unique_ptr<File> file, Bytes size, bool compressed);
  Result<std::size_t> readFile(std::span<std::byte> out);
  /// Puts what comes next into m_decoded, of which all is given out: so the end is known before it is asked for.
  Status decode();

  Path m_path;
  std::unique_ptr<File> m_file;
  Bytes m_size = 0;
  Bytes m_offset = 0; ///< in the file, of what was read
  Hasher128 m_hasher;
  std::optional<ZstdDecoder> m_decoder; ///< of a compressed file; the rest is for these alone
  std::vector<std::byte> m_raw;         ///< compressed bytes
  std::span<const std::byte> m_undecoded;
  std::vector<std::byte> m_decoded; ///< not yet given out from m_at on
  std::size_t m_at = 0;
  bool m_finished = false; ///< the decoder gives nothing more
};

/// Whether a file of this name is decompressed.
bool isZstdName(const Path& path);

} // namespace millrace
