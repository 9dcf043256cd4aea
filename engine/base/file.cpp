#include "base/file.h"

#include "base/page_memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>

namespace millrace {

namespace {

/// The system would take the name to end there.
bool hasNul(const Path& path) {
  return path.native().find('\0') != std::string::npos;
}

class LocalFile final : public File {
 public:
  LocalFile(Path path, int descriptor) : m_path(std::move(path)), m_descriptor(descriptor) {}
  ~LocalFile() override { ::close(m_descriptor); }
  LocalFile(const LocalFile&) = delete;
  LocalFile& operator=(const LocalFile&) = delete;

  Status read(std::span<std::byte> destination, Bytes offset) const override {
    std::size_t done = 0;
    while (done < destination.size()) {
      const ssize_t got = ::pread(m_descriptor, destination.data() + done, destination.size() - done,
                                  offset + static_cast<Bytes>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return systemError(m_path, fmt::format("read at byte {}", offset + static_cast<Bytes>(done)), errno);
      if (got == 0)
        return badInput(fmt::format("{}: ends at byte {}, expected {} bytes from byte {}: the file is truncated",
                                    m_path.string(), offset + static_cast<Bytes>(done), destination.size(), offset));
      done += static_cast<std::size_t>(got);
    }
    return {};
  }

  Status write(std::span<const std::byte> source, Bytes offset) override {
    std::size_t done = 0;
    while (done < source.size()) {
      const ssize_t put =
          ::pwrite(m_descriptor, source.data() + done, source.size() - done, offset + static_cast<Bytes>(done));
      if (put < 0 && errno == EINTR) continue;
      if (put < 0)
        return systemError(m_path, fmt::format("write at byte {}", offset + static_cast<Bytes>(done)), errno);
      done += static_cast<std::size_t>(put);
    }
    return {};
  }

  Result<Bytes> size() const override {
    struct stat info = {};
    if (::fstat(m_descriptor, &info) != 0) return systemError(m_path, "get the size", errno);
    return static_cast<Bytes>(info.st_size);
  }

  Result<std::int64_t> modified() const override {
    struct stat info = {};
    if (::fstat(m_descriptor, &info) != 0) return systemError(m_path, "get the time of the last change", errno);
    return static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 + info.st_mtim.tv_nsec;
  }

  Status truncate(Bytes size) override {
    if (::ftruncate(m_descriptor, size) != 0)
      return systemError(m_path, fmt::format("set the size to {}", size), errno);
    return {};
  }

  Status allocate(Bytes size) override {
    for (;;) {
      if (::fallocate(m_descriptor, 0, 0, size) == 0) return {};
      if (errno == EINTR) continue;
      if (errno != EOPNOTSUPP) return systemError(m_path, fmt::format("reserve {}", formatBytes(size)), errno);
      return writeZeros(size);
    }
  }

  Status sync() override {
    if (::fsync(m_descriptor) != 0) return systemError(m_path, "flush to the disk", errno);
    return {};
  }

  int descriptor() const override { return m_descriptor; }

 private:
  /// Behind what is there, for file systems that reserve nothing. Pages, since the file may be open for direct access.
  Status writeZeros(Bytes size) {
    constexpr Bytes piece = 256 * KiB;
    MILLRACE_TRY(Bytes at, this->size()); // the rest of its last page is there, and zero
    const PageMemory zeros = allocatePages(piece);
    if (!zeros) return failed(fmt::format("{}: no memory to reserve room with", m_path.string()));
    std::memset(zeros.get(), 0, static_cast<std::size_t>(piece));
    for (at = alignUp(at, pageBytes); at < size; at += piece) {
      const Bytes part = std::min(piece, alignUp(size - at, pageBytes));
      MILLRACE_CHECK(write({zeros.get(), static_cast<std::size_t>(part)}, at));
    }
    return {};
  }

  Path m_path;
  int m_descriptor;
};

} // namespace

tl::unexpected<Error> systemError(const Path& path, std::string_view action, int code) {
  ErrorKind kind = ErrorKind::Failed;
  if (code == ENOSPC || code == EDQUOT) kind = ErrorKind::OutOfSpace;
  if (code == ENOENT || code == EACCES || code == EISDIR || code == ENOTDIR || code == ENAMETOOLONG || code == ELOOP ||
      code == EROFS)
    kind = ErrorKind::BadInput;
  return failure(kind, fmt::format("{}: cannot {}: {}", path.string(), action,
                                   std::error_code(code, std::generic_category()).message()));
}

Result<std::unique_ptr<File>> LocalFileSystem::open(const Path& path, OpenMode mode) {
  if (hasNul(path)) return badInput(fmt::format("{}: a NUL character is in the name", path.c_str()));
  int flags = O_CLOEXEC | O_NONBLOCK; // a pipe or a device is not waited for: it is refused below
  switch (mode) {
  case OpenMode::Read:
    flags |= O_RDONLY;
    break;
  case OpenMode::Create:
    flags |= O_RDWR | O_CREAT | O_TRUNC;
    break;
  case OpenMode::ReadWrite:
    flags |= O_RDWR | O_CREAT;
    break;
  case OpenMode::ReadWriteDirect:
    flags |= O_RDWR | O_CREAT | O_DIRECT;
    break;
  }
  const int descriptor = ::open(path.c_str(), flags, 0600);
  if (descriptor < 0) return systemError(path, mode == OpenMode::Read ? "open" : "create", errno);
  struct stat info = {};
  if (::fstat(descriptor, &info) == 0 && !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return badInput(fmt::format("{}: is a {}, expected a file", path.string(),
                                S_ISDIR(info.st_mode) ? "folder" : "device, pipe or socket"));
  }
  ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK); // io_uring would say "try again" where it can wait
  return std::make_unique<LocalFile>(path, descriptor);
}

Status LocalFileSystem::rename(const Path& from, const Path& to) {
  struct stat info = {};
  if (::lstat(to.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode) && !S_ISLNK(info.st_mode))
    return badInput(fmt::format("{}: is a device, pipe or socket, and is not replaced by a file", to.string()));
  if (::rename(from.c_str(), to.c_str()) != 0)
    return systemError(from, fmt::format("rename to {}", to.string()), errno);
  return {};
}

Status LocalFileSystem::remove(const Path& path) {
  std::error_code code;
  std::filesystem::remove_all(path, code);
  if (code && code.value() != ENOENT) return systemError(path, "remove", code.value());
  return {};
}

Status LocalFileSystem::createDirectories(const Path& path) {
  if (hasNul(path)) return badInput(fmt::format("{}: a NUL character is in the name", path.c_str()));
  Path partial;
  for (const Path& part : path) {
    partial /= part;
    if (::mkdir(partial.c_str(), 0700) == 0) continue;
    const int code = errno;
    if (code != EEXIST && !isDirectory(partial)) return systemError(partial, "create the folder", code);
  }
  if (!isDirectory(path)) return badInput(fmt::format("{}: is a file, expected a folder", path.string()));
  return {};
}

Status LocalFileSystem::syncDirectory(const Path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return systemError(path, "open the folder", errno);
  const int outcome = ::fsync(descriptor);
  const int code = errno;
  ::close(descriptor);
  // Some network file systems cannot flush a folder; the rename itself still happened.
  if (outcome != 0 && code != EINVAL && code != ENOTSUP) return systemError(path, "flush the folder", code);
  return {};
}

Result<std::vector<std::string>> LocalFileSystem::list(const Path& path) {
  std::error_code code;
  std::vector<std::string> names;
  for (std::filesystem::directory_iterator entry(path, code), end; !code && entry != end; entry.increment(code))
    names.push_back(entry->path().filename().string());
  if (code) return systemError(path, "list the folder", code.value());
  std::sort(names.begin(), names.end());
  return names;
}

bool LocalFileSystem::exists(const Path& path) {
  if (hasNul(path)) return false;
  std::error_code code;
  return std::filesystem::exists(path, code) || code == std::errc::permission_denied;
}

bool LocalFileSystem::isDirectory(const Path& path) {
  if (hasNul(path)) return false;
  std::error_code code;
  return std::filesystem::is_directory(path, code);
}

Result<Bytes> LocalFileSystem::freeSpace(const Path& path) {
  Path existing = path.empty() ? Path(".") : path;
  std::error_code code;
  while (!std::filesystem::exists(existing, code) && existing.has_parent_path() && existing != existing.parent_path())
    existing = existing.parent_path();
  if (!std::filesystem::exists(existing, code)) existing = ".";
  struct statvfs info = {};
  if (::statvfs(existing.c_str(), &info) != 0) return systemError(existing, "read the free space", errno);
  return static_cast<Bytes>(info.f_bavail) * static_cast<Bytes>(info.f_frsize);
}

Result<std::string> readTextFile(FileSystem& files, const Path& path, Bytes limit) {
  MILLRACE_TRY(const auto file, files.open(path, OpenMode::Read));
  MILLRACE_TRY(const Bytes size, file->size());
  if (size > limit)
    return badInput(fmt::format("{}: {} is too large, at most {} is expected here", path.string(), formatBytes(size),
                                formatBytes(limit)));
  std::string text(static_cast<std::size_t>(size), '\0');
  MILLRACE_CHECK(file->read(std::as_writable_bytes(std::span(text)), 0));
  return text;
}

} // namespace millrace
