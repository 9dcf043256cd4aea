// Appending to a file of JSON lines that others follow while it grows. A line is written by one positioned write; what
// does not fit on a full disk waits in memory and is written when there is room, so no run ends for its metrics.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace millrace {

/// One writer per file; one thread at a time.
class JsonLinesWriter {
 public:
  /// Opens or creates the file and repairs its end: see repaired().
  static Result<JsonLinesWriter> open(FileSystem& files, const Path& path, Bytes pendingLimit = 16 * MiB);

  /// Appends the line (no line end in it), after those that still wait. OutOfSpace or Failed when it could not be
  /// written: the line waits then, and the file still ends with its last whole line.
  Status append(std::string_view line);

  /// Writes what waits.
  Status retry();

  /// What was appended is on stable storage.
  Status sync();

  std::size_t pendingLines() const { return m_pending.size(); }
  /// Lines given up, the oldest first, because more waited than pendingLimit.
  std::uint64_t droppedLines() const { return m_dropped; }
  /// Bytes of a torn last line that were cut off at open.
  Bytes repaired() const { return m_repaired; }
  Bytes size() const { return m_end; }

 private:
  JsonLinesWriter(Path path, std::unique_ptr<File> file, Bytes end, Bytes repaired, Bytes pendingLimit);

  Path m_path;
  std::unique_ptr<File> m_file;
  std::deque<std::string> m_pending;
  Bytes m_pendingBytes = 0;
  Bytes m_pendingLimit = 0;
  Bytes m_end = 0;
  Bytes m_repaired = 0;
  std::uint64_t m_dropped = 0;
};

/// Cuts off what a kill or a power loss left of a last line (and lines of zeros), or completes a line that only misses
/// its end. Returns the size before and after.
struct RepairedEnd {
  Bytes before = 0;
  Bytes after = 0;
};
Result<RepairedEnd> repairLastLine(File& file, const Path& path);

} // namespace millrace
