// File systems of tests that change one thing about another file system: what is not overridden is passed on.
#pragma once

#include "base/file.h"

#include <memory>

namespace millrace::test {

class ForwardingFile : public File {
 public:
  explicit ForwardingFile(std::unique_ptr<File> inner) : m_inner(std::move(inner)) {}
  Status read(std::span<std::byte> destination, Bytes offset) const override {
    return m_inner->read(destination, offset);
  }
  Status write(std::span<const std::byte> source, Bytes offset) override { return m_inner->write(source, offset); }
  Result<Bytes> size() const override { return m_inner->size(); }
  Result<std::int64_t> modified() const override { return m_inner->modified(); }
  Status truncate(Bytes size) override { return m_inner->truncate(size); }
  Status allocate(Bytes size) override { return m_inner->allocate(size); }
  Status sync() override { return m_inner->sync(); }

 private:
  std::unique_ptr<File> m_inner;
};

/// The inner one must outlive it.
class ForwardingFileSystem : public FileSystem {
 public:
  explicit ForwardingFileSystem(FileSystem& inner) : m_inner(inner) {}
  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override { return m_inner.open(path, mode); }
  Status rename(const Path& from, const Path& to) override { return m_inner.rename(from, to); }
  Status remove(const Path& path) override { return m_inner.remove(path); }
  Status createDirectories(const Path& path) override { return m_inner.createDirectories(path); }
  Status syncDirectory(const Path& path) override { return m_inner.syncDirectory(path); }
  Result<std::vector<std::string>> list(const Path& path) override { return m_inner.list(path); }
  bool exists(const Path& path) override { return m_inner.exists(path); }
  bool isDirectory(const Path& path) override { return m_inner.isDirectory(path); }
  Result<Bytes> freeSpace(const Path& path) override { return m_inner.freeSpace(path); }

 private:
  FileSystem& m_inner;
};

} // namespace millrace::test
