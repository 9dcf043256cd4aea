// Reading files of JSON lines that somebody else may be appending to, or cutting back, at the same time.
#pragma once

#include "base/file.h"

#include <functional>
#include <optional>
#include <string>

namespace millrace {

struct JsonLine {
  std::string text; ///< without its end
  Bytes begin = 0;
  Bytes end = 0; ///< after the line end, or the end of the file
};

/// Streams whole lines, in pieces of 64 KiB. The file may be missing still. One thread at a time.
class JsonLinesReader {
 public:
  JsonLinesReader(FileSystem& files, Path path, Bytes offset = 0);

  /// The next complete line; nothing when there is none yet: call again when the file has grown. Lines longer than
  /// 16 MiB are passed over.
  Result<std::optional<JsonLine>> next();

  /// The line read last is no longer where it was: the file was cut back or replaced. next() yields nothing until
  /// seek().
  bool rewritten() const { return m_rewritten; }
  /// Goes on at a byte where a line begins.
  void seek(Bytes offset);

  const Path& path() const { return m_path; }
  std::uint64_t skippedLines() const { return m_skipped; }
  /// How often new bytes were read from the file.
  std::uint64_t refills() const { return m_refills; }

 private:
  Status refill();

  FileSystem& m_files;
  Path m_path;
  std::string m_buffer;    // bytes from m_offset on that are not given out yet
  std::size_t m_taken = 0; // of m_buffer
  std::size_t m_scanned = 0;
  Bytes m_offset = 0; // of m_buffer[0] in the file
  bool m_skipping = false;
  bool m_rewritten = false;
  std::uint64_t m_skipped = 0;
  std::uint64_t m_refills = 0;
  Bytes m_lastBegin = 0;
  Bytes m_lastBytes = 0; // 0: no line read since seek
  std::uint64_t m_lastHash = 0;
};

/// Calls visit for the lines from the last to the first until it returns false. The last may lack its end. Lines longer
/// than 16 MiB come with an empty text.
Status visitLinesBackward(const File& file, const std::function<bool(const JsonLine&)>& visit);

} // namespace millrace
