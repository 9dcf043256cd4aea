// What the storage tests share: temporary folders, raw files, and a file system whose writes can fail.
#pragma once

#include "support/forwarding_file_system.h"

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

/// The disk is full after a number of written bytes.
class FullDisk final : public ForwardingFileSystem {
 public:
  FullDisk(FileSystem& inner, Bytes capacity) : ForwardingFileSystem(inner), m_left(capacity) {}
  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    MILLRACE_TRY(auto file, ForwardingFileSystem::open(path, mode));
    return std::make_unique<Limited>(*this, std::move(file));
  }
  Result<Bytes> freeSpace(const Path&) override { return m_left; }

 private:
  class Limited final : public ForwardingFile {
   public:
    Limited(FullDisk& disk, std::unique_ptr<File> inner) : ForwardingFile(std::move(inner)), m_disk(disk) {}
    Status write(std::span<const std::byte> source, Bytes offset) override {
      m_disk.m_left -= static_cast<Bytes>(source.size());
      if (m_disk.m_left < 0) return failure(ErrorKind::OutOfSpace, "the disk is full");
      return ForwardingFile::write(source, offset);
    }

   private:
    FullDisk& m_disk;
  };

  Bytes m_left;
};

} // namespace millrace::test
