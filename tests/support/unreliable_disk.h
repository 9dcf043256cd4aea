// A disk that does with one of its requests what drives, cables and their firmware do now and then. Wraps any file
// system; only files opened for direct access are unreliable. Requests may come from several threads.
#pragma once

#include "base/mutex.h"
#include "support/forwarding_file_system.h"

#include <optional>
#include <utility>
#include <vector>

namespace millrace::test {

enum class DiskFault {
  None,
  FlippedOnce,      ///< a read gives a wrong bit, once
  FlippedReads,     ///< that read and all later ones do
  FlippedOnDisk,    ///< a write stores a wrong bit
  TornWrite,        ///< a write stores only its beginning, and says it is done
  LostWrite,        ///< a write does nothing, and says it is done
  MisdirectedWrite, ///< a write goes to another place of the file
  LateWrite,        ///< a write is done after the next one of the same place
  ShortRead,        ///< a read gives only its beginning, and says it is done
  ReadErrorOnce,    ///< a read fails
  ReadErrors,       ///< that read and all later ones fail
  WriteError,       ///< a write fails half way
  NoSpace,          ///< a write finds the disk full
  Truncated,        ///< the file loses its second half at a write
};

class UnreliableDisk final : public ForwardingFileSystem {
 public:
  using ForwardingFileSystem::ForwardingFileSystem;

  /// The request with this number, reads and writes counted apart, meets the fault; random chooses bits and places.
  void arm(DiskFault fault, std::int64_t request, std::uint64_t random) {
    const Lock lock(m_mutex);
    m_fault = fault;
    m_at = request;
    m_random = random;
    m_reads = m_writes = 0;
  }
  bool happened() const {
    const Lock lock(m_mutex);
    return m_happened;
  }

  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    MILLRACE_TRY(auto file, ForwardingFileSystem::open(path, mode));
    if (mode != OpenMode::ReadWriteDirect) return file;
    return std::make_unique<UnreliableFile>(*this, std::move(file));
  }

 private:
  class UnreliableFile final : public ForwardingFile {
   public:
    UnreliableFile(UnreliableDisk& disk, std::unique_ptr<File> inner)
        : ForwardingFile(std::move(inner)), m_disk(disk) {}

    Status read(std::span<std::byte> destination, Bytes offset) const override {
      const DiskFault fault = m_disk.next(false);
      if (fault == DiskFault::ReadErrorOnce || fault == DiskFault::ReadErrors)
        return failed("injected: input/output error");
      if (fault == DiskFault::ShortRead)
        return ForwardingFile::read(destination.first(m_disk.random(destination.size())), offset);
      MILLRACE_CHECK(ForwardingFile::read(destination, offset));
      if (fault == DiskFault::FlippedOnce || fault == DiskFault::FlippedReads) m_disk.flip(destination);
      return {};
    }

    Status write(std::span<const std::byte> source, Bytes offset) override {
      const DiskFault fault = m_disk.next(true);
      switch (fault) {
      case DiskFault::FlippedOnDisk: {
        std::vector<std::byte> wrong(source.begin(), source.end());
        m_disk.flip(wrong);
        return ForwardingFile::write(wrong, offset);
      }
      case DiskFault::TornWrite:
        return ForwardingFile::write(source.first(m_disk.random(source.size())), offset);
      case DiskFault::LostWrite:
        return {};
      case DiskFault::MisdirectedWrite:
        return ForwardingFile::write(source, otherPlace(offset, source.size()));
      case DiskFault::LateWrite:
        keepLate(source, offset);
        return {};
      case DiskFault::WriteError:
        (void)ForwardingFile::write(source.first(source.size() / 2), offset);
        return failed("injected: input/output error");
      case DiskFault::NoSpace:
        return failure(ErrorKind::OutOfSpace, "injected: no space left on device");
      case DiskFault::Truncated:
        MILLRACE_CHECK(ForwardingFile::write(source, offset));
        return truncate(*size() / 2);
      default:
        break;
      }
      MILLRACE_CHECK(ForwardingFile::write(source, offset));
      const auto late = takeLate(offset);
      return late ? ForwardingFile::write(*late, offset) : Status{};
    }

   private:
    struct Late {
      Bytes offset = 0;
      std::vector<std::byte> bytes;
    };
    void keepLate(std::span<const std::byte> source, Bytes offset) {
      const Lock lock(m_disk.m_mutex);
      m_late = Late{offset, {source.begin(), source.end()}};
    }
    std::optional<std::vector<std::byte>> takeLate(Bytes offset) {
      const Lock lock(m_disk.m_mutex);
      if (!m_late || m_late->offset != offset) return std::nullopt;
      return std::exchange(m_late, std::nullopt)->bytes;
    }
    /// In the file, and not the same.
    Bytes otherPlace(Bytes offset, std::size_t bytes) const {
      constexpr Bytes page = 4096;
      const Bytes places = (*size() - static_cast<Bytes>(bytes)) / page; // behind the header
      const Bytes place = 1 + static_cast<Bytes>(m_disk.random(static_cast<std::size_t>(places)));
      return place * page == offset ? 0 : place * page;
    }

    UnreliableDisk& m_disk;
    std::optional<Late> m_late; // under the disk's mutex
  };

  /// What the request that begins now meets.
  DiskFault next(bool write) {
    const Lock lock(m_mutex);
    const std::int64_t number = write ? m_writes++ : m_reads++;
    const bool lasts = m_fault == DiskFault::FlippedReads || m_fault == DiskFault::ReadErrors;
    if (isOfWrites(m_fault) != write || (lasts ? number < m_at : number != m_at)) return DiskFault::None;
    m_happened = m_happened || m_fault != DiskFault::None;
    return m_fault;
  }
  static bool isOfWrites(DiskFault fault) {
    switch (fault) {
    case DiskFault::None:
    case DiskFault::FlippedOnce:
    case DiskFault::FlippedReads:
    case DiskFault::ShortRead:
    case DiskFault::ReadErrorOnce:
    case DiskFault::ReadErrors:
      return false;
    default:
      return true;
    }
  }
  /// Below the bound.
  std::size_t random(std::size_t bound) const {
    const Lock lock(m_mutex);
    return bound == 0 ? 0 : static_cast<std::size_t>(m_random % bound);
  }
  void flip(std::span<std::byte> bytes) const {
    const std::size_t bit = random(8 * bytes.size());
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }

  mutable Mutex m_mutex; ///< guards what follows
  DiskFault m_fault = DiskFault::None;
  std::int64_t m_at = -1;
  std::uint64_t m_random = 0;
  std::int64_t m_reads = 0, m_writes = 0;
  bool m_happened = false;
};

} // namespace millrace::test
