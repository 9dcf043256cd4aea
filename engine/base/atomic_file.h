// Writing a file so that a reader sees the old contents or the new, never a part: written aside, flushed, renamed.
#pragma once

#include "base/file.h"

#include <string_view>

namespace millrace {

/// A file under construction beside its final name. Without commit() the destructor removes what was written.
class AtomicFile {
 public:
  static Result<AtomicFile> create(FileSystem& files, const Path& path);
  ~AtomicFile();
  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;

  /// Appends.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text);
  Bytes written() const { return m_written; }
  /// Flushes, renames to the final name, flushes the folder. After a failure the final name is as before.
  Status commit();

 private:
  AtomicFile(FileSystem& files, Path path, Path temporary, std::unique_ptr<File> file);

  FileSystem* m_files;
  Path m_path;
  Path m_temporary;
  std::unique_ptr<File> m_file;
  Bytes m_written = 0;
};

/// The whole text under the name, atomically.
Status writeTextFile(FileSystem& files, const Path& path, std::string_view text);

} // namespace millrace
