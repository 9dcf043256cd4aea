// Files as the engine sees them: positioned reads and writes whose every result is checked, behind an interface so that
// tests can inject faults (short reads, EIO, ENOSPC, lost writes, kills). LocalFileSystem is the real one.
#pragma once

#include "base/result.h"
#include "base/units.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

using Path = std::filesystem::path;

/// An open file. Closing happens in the destructor. One thread at a time, except that reads, and writes of disjoint
/// ranges within the file's size, may go on at once.
class File {
 public:
  virtual ~File() = default;
  /// Reads exactly destination.size() bytes at offset, or fails naming the file and the byte where it ended.
  virtual Status read(std::span<std::byte> destination, Bytes offset) const = 0;
  /// Writes all of source at offset. OutOfSpace when the disk or quota is full.
  virtual Status write(std::span<const std::byte> source, Bytes offset) = 0;
  virtual Result<Bytes> size() const = 0;
  /// When its contents were last changed, nanoseconds since 1970.
  virtual Result<std::int64_t> modified() const = 0;
  virtual Status truncate(Bytes size) = 0;
  /// Room on the disk for bytes [0, size), which is then the least size of the file; new bytes read as zeros.
  /// OutOfSpace when there is none; part of the room may have been taken then.
  virtual Status allocate(Bytes size) = 0;
  /// Data and metadata on stable storage when it returns.
  virtual Status sync() = 0;
  /// What the system knows the open file by, for its asynchronous calls and locks; -1: there is no such thing, all must
  /// go through this object. Not to be closed.
  virtual int descriptor() const { return -1; }
};

enum class OpenMode {
  Read,      ///< must exist
  Create,    ///< created or emptied; mode 0600
  ReadWrite, ///< created when missing, kept otherwise; mode 0600
  /// The same past the system's cache (O_DIRECT): memory, offsets and lengths must be multiples of 4096. Fails on file
  /// systems that cannot; an empty file may then be left behind.
  ReadWriteDirect,
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) = 0;
  /// Replaces `to` atomically on one file system.
  virtual Status rename(const Path& from, const Path& to) = 0;
  /// A file or a whole folder; no error when it is not there.
  virtual Status remove(const Path& path) = 0;
  /// With parents; mode 0700; no error when it exists.
  virtual Status createDirectories(const Path& path) = 0;
  /// Makes a rename or creation inside the folder durable.
  virtual Status syncDirectory(const Path& path) = 0;
  /// Names of entries, sorted.
  virtual Result<std::vector<std::string>> list(const Path& path) = 0;
  /// Also where it may not be looked at: whoever opens it is told so.
  virtual bool exists(const Path& path) = 0;
  virtual bool isDirectory(const Path& path) = 0;
  /// Bytes free to this user on the file system that holds the path (which need not exist yet).
  virtual Result<Bytes> freeSpace(const Path& path) = 0;
};

class LocalFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override;
  Status rename(const Path& from, const Path& to) override;
  Status remove(const Path& path) override;
  Status createDirectories(const Path& path) override;
  Status syncDirectory(const Path& path) override;
  Result<std::vector<std::string>> list(const Path& path) override;
  bool exists(const Path& path) override;
  bool isDirectory(const Path& path) override;
  Result<Bytes> freeSpace(const Path& path) override;
};

/// The error of a system call on the path that set errno to `code`: "PATH: cannot ACTION: ...".
tl::unexpected<Error> systemError(const Path& path, std::string_view action, int code);

/// The whole file as text; refuses files above the limit (hostile or mistaken input), naming both sizes.
Result<std::string> readTextFile(FileSystem& files, const Path& path, Bytes limit = 64 * MiB);

} // namespace millrace
