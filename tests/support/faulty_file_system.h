// A file system whose nth operation fails: with an I/O error, with a full disk, or because the power went, after which
// nothing works. A write that fails leaves its first half, as real ones do. Wraps any FileSystem. Operations may
// come from several threads.
#pragma once

#include "base/mutex.h"
#include "support/forwarding_file_system.h"

#include <cstdint>
#include <memory>

namespace millrace::test {

enum class Fault {
  None,
  Error,   ///< this operation fails, later ones work
  NoSpace, ///< this and every later write fails until space is made with repair()
  Crash,   ///< this and every later operation fails
};

class FaultyFileSystem final : public ForwardingFileSystem {
 public:
  using ForwardingFileSystem::ForwardingFileSystem;

  /// The operation with this number (the next one has number 0) fails.
  void failAt(std::int64_t operation, Fault fault) {
    const Lock lock(m_mutex);
    m_failAt = operation;
    m_fault = fault;
    m_count = 0;
    m_failing = false;
  }
  void repair() { failAt(-1, Fault::None); }
  /// Operations since failAt().
  std::int64_t operations() const {
    const Lock lock(m_mutex);
    return m_count;
  }
  bool happened() const {
    const Lock lock(m_mutex);
    return m_failing || m_count > m_failAt;
  }
  void setFreeSpace(Bytes bytes) { m_freeSpace = bytes; }

  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    MILLRACE_CHECK(step(mode != OpenMode::Read));
    MILLRACE_TRY(auto file, ForwardingFileSystem::open(path, mode));
    return std::make_unique<FaultyFile>(*this, std::move(file));
  }
  Status rename(const Path& from, const Path& to) override {
    MILLRACE_CHECK(step(false));
    return ForwardingFileSystem::rename(from, to);
  }
  Status remove(const Path& path) override {
    MILLRACE_CHECK(step(false));
    return ForwardingFileSystem::remove(path);
  }
  Status createDirectories(const Path& path) override {
    MILLRACE_CHECK(step(true));
    return ForwardingFileSystem::createDirectories(path);
  }
  Status syncDirectory(const Path& path) override {
    MILLRACE_CHECK(step(false));
    return ForwardingFileSystem::syncDirectory(path);
  }
  Result<std::vector<std::string>> list(const Path& path) override {
    MILLRACE_CHECK(step(false));
    return ForwardingFileSystem::list(path);
  }
  Result<Bytes> freeSpace(const Path& path) override {
    MILLRACE_CHECK(step(false));
    if (m_freeSpace >= 0) return m_freeSpace;
    return ForwardingFileSystem::freeSpace(path);
  }

 private:
  class FaultyFile final : public ForwardingFile {
   public:
    FaultyFile(FaultyFileSystem& system, std::unique_ptr<File> inner)
        : ForwardingFile(std::move(inner)), m_system(system) {}
    Status read(std::span<std::byte> destination, Bytes offset) const override {
      MILLRACE_CHECK(m_system.step(false));
      return ForwardingFile::read(destination, offset);
    }
    Status write(std::span<const std::byte> source, Bytes offset) override {
      const bool before = m_system.failing();
      if (Status allowed = m_system.step(true); !allowed) {
        if (!before) (void)ForwardingFile::write(source.first(source.size() / 2), offset);
        return allowed;
      }
      return ForwardingFile::write(source, offset);
    }
    Result<Bytes> size() const override {
      MILLRACE_CHECK(m_system.step(false));
      return ForwardingFile::size();
    }
    Status truncate(Bytes size) override {
      MILLRACE_CHECK(m_system.step(false));
      return ForwardingFile::truncate(size);
    }
    Status allocate(Bytes size) override {
      MILLRACE_CHECK(m_system.step(true));
      return ForwardingFile::allocate(size);
    }
    Status sync() override {
      MILLRACE_CHECK(m_system.step(true));
      return ForwardingFile::sync();
    }

   private:
    FaultyFileSystem& m_system;
  };

  bool failing() const {
    const Lock lock(m_mutex);
    return m_failing;
  }

  Status step(bool needsSpace) {
    const Lock lock(m_mutex);
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

  mutable Mutex m_mutex; ///< guards what follows, but for the free space
  std::int64_t m_failAt = -1;
  std::int64_t m_count = 0;
  Fault m_fault = Fault::None;
  bool m_failing = false;
  Bytes m_freeSpace = -1;
};

} // namespace millrace::test
