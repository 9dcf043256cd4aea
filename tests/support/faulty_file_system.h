// A file system whose nth operation fails: with an I/O error, with a full disk, or because the power went, after which
// nothing works. A write that fails leaves its first half, as real ones do. Wraps any FileSystem. One thread.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <memory>

namespace millrace::test {

enum class Fault {
  None,
  Error,   ///< this operation fails, later ones work
  NoSpace, ///< this and every later write fails until space is made with repair()
  Crash,   ///< this and every later operation fails
};

class FaultyFileSystem final : public FileSystem {
 public:
  explicit FaultyFileSystem(FileSystem& inner) : m_inner(inner) {}

  /// The operation with this number (the next one has number 0) fails.
  void failAt(std::int64_t operation, Fault fault) {
    m_failAt = operation;
    m_fault = fault;
    m_count = 0;
    m_failing = false;
  }
  void repair() { failAt(-1, Fault::None); }
  /// Operations since failAt().
  std::int64_t operations() const { return m_count; }
  bool happened() const { return m_failing || m_count > m_failAt; }
  void setFreeSpace(Bytes bytes) { m_freeSpace = bytes; }

  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    MILLRACE_CHECK(step(mode != OpenMode::Read));
    MILLRACE_TRY(auto file, m_inner.open(path, mode));
    return std::make_unique<FaultyFile>(*this, std::move(file));
  }
  Status rename(const Path& from, const Path& to) override {
    MILLRACE_CHECK(step(false));
    return m_inner.rename(from, to);
  }
  Status remove(const Path& path) override {
    MILLRACE_CHECK(step(false));
    return m_inner.remove(path);
  }
  Status createDirectories(const Path& path) override {
    MILLRACE_CHECK(step(true));
    return m_inner.createDirectories(path);
  }
  Status syncDirectory(const Path& path) override {
    MILLRACE_CHECK(step(false));
    return m_inner.syncDirectory(path);
  }
  Result<std::vector<std::string>> list(const Path& path) override {
    MILLRACE_CHECK(step(false));
    return m_inner.list(path);
  }
  bool exists(const Path& path) override { return m_inner.exists(path); }
  bool isDirectory(const Path& path) override { return m_inner.isDirectory(path); }
  Result<Bytes> freeSpace(const Path& path) override {
    MILLRACE_CHECK(step(false));
    if (m_freeSpace >= 0) return m_freeSpace;
    return m_inner.freeSpace(path);
  }

 private:
  class FaultyFile final : public File {
   public:
    FaultyFile(FaultyFileSystem& system, std::unique_ptr<File> inner) : m_system(system), m_inner(std::move(inner)) {}
    Status read(std::span<std::byte> destination, Bytes offset) const override {
      MILLRACE_CHECK(m_system.step(false));
      return m_inner->read(destination, offset);
    }
    Status write(std::span<const std::byte> source, Bytes offset) override {
      const bool before = m_system.m_failing;
      if (Status allowed = m_system.step(true); !allowed) {
        if (!before) (void)m_inner->write(source.first(source.size() / 2), offset);
        return allowed;
      }
      return m_inner->write(source, offset);
    }
    Result<Bytes> size() const override {
      MILLRACE_CHECK(m_system.step(false));
      return m_inner->size();
    }
    Status truncate(Bytes size) override {
      MILLRACE_CHECK(m_system.step(false));
      return m_inner->truncate(size);
    }
    Status sync() override {
      MILLRACE_CHECK(m_system.step(true));
      return m_inner->sync();
    }

   private:
    FaultyFileSystem& m_system;
    std::unique_ptr<File> m_inner;
  };

  Status step(bool needsSpace) {
    const bool now = m_count++ == m_failAt;
    switch (m_fault) {
    case Fault::None:
      return {};
    case Fault::Error:
      if (now) return failed("injected: input/output error");
      return {};
    case Fault::NoSpace:
      // The disk fills up with the first operation from there on that needs space.
      if (m_failAt >= 0 && m_count > m_failAt && needsSpace) {
        m_failing = true;
        return failure(ErrorKind::OutOfSpace, "injected: no space left on device");
      }
      return {};
    case Fault::Crash:
      m_failing = m_failing || now;
      if (m_failing) return failed("injected: the power is gone");
      return {};
    }
    return {};
  }

  FileSystem& m_inner;
  std::int64_t m_failAt = -1;
  std::int64_t m_count = 0;
  Fault m_fault = Fault::None;
  bool m_failing = false;
  Bytes m_freeSpace = -1;
};

} // namespace millrace::test
