// What the storage tests share: temporary folders, raw files, and a file system whose writes can fail.
#pragma once

#include "base/file.h"

#include <QTemporaryDir>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

namespace millrace::test {

/// A folder that goes away with its owner.
class Folder {
 public:
  Path path() const { return Path(m_folder.path().toStdString()); }
  Path operator/(const std::string& name) const { return path() / name; }

 private:
  QTemporaryDir m_folder;
};

inline void writeRaw(const Path& path, std::string_view bytes) {
  LocalFileSystem files;
  const auto file = valueOrThrow(files.open(path, OpenMode::Create));
  valueOrThrow(file->write(std::as_bytes(std::span(bytes)), 0));
}

inline std::string readRaw(const Path& path) {
  LocalFileSystem files;
  return valueOrThrow(readTextFile(files, path, GiB));
}

/// A safetensors file from its parts.
inline std::string safetensorsBytes(std::string_view header, std::size_t contentBytes) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  bytes += header;
  for (std::size_t i = 0; i < contentBytes; ++i) bytes += static_cast<char>(i % 251);
  return bytes;
}

/// The local file system, but the disk is full after a number of written bytes.
class FullDisk final : public FileSystem {
 public:
  explicit FullDisk(Bytes capacity) : m_left(std::make_shared<Bytes>(capacity)) {}
  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    auto file = m_local.open(path, mode);
    if (!file) return file;
    return std::make_unique<Limited>(std::move(*file), m_left);
  }
  Status rename(const Path& from, const Path& to) override { return m_local.rename(from, to); }
  Status remove(const Path& path) override { return m_local.remove(path); }
  Status createDirectories(const Path& path) override { return m_local.createDirectories(path); }
  Status syncDirectory(const Path& path) override { return m_local.syncDirectory(path); }
  Result<std::vector<std::string>> list(const Path& path) override { return m_local.list(path); }
  bool exists(const Path& path) override { return m_local.exists(path); }
  bool isDirectory(const Path& path) override { return m_local.isDirectory(path); }
  Result<Bytes> freeSpace(const Path&) override { return *m_left; }

 private:
  class Limited final : public File {
   public:
    Limited(std::unique_ptr<File> file, std::shared_ptr<Bytes> left)
        : m_file(std::move(file)), m_left(std::move(left)) {}
    Status read(std::span<std::byte> destination, Bytes offset) const override {
      return m_file->read(destination, offset);
    }
    Status write(std::span<const std::byte> source, Bytes offset) override {
      *m_left -= static_cast<Bytes>(source.size());
      if (*m_left < 0) return failure(ErrorKind::OutOfSpace, "the disk is full");
      return m_file->write(source, offset);
    }
    Result<Bytes> size() const override { return m_file->size(); }
    Status truncate(Bytes size) override { return m_file->truncate(size); }
    Status sync() override { return m_file->sync(); }

   private:
    std::unique_ptr<File> m_file;
    std::shared_ptr<Bytes> m_left;
  };

  LocalFileSystem m_local;
  std::shared_ptr<Bytes> m_left;
};

} // namespace millrace::test
