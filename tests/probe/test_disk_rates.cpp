// The disk's probe leaves nothing behind whatever happens, keeps to its sizes, and says when a cache is in the way.
#include "probe/disk_rates.h"

#include "support/faulty_file_system.h"
#include "support/forwarding_file_system.h"
#include "support/memory_file_system.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace millrace;
using namespace millrace::test;

namespace {

/// Counts what is asked of a file system; may refuse unbuffered access.
class WatchedFileSystem final : public ForwardingFileSystem {
 public:
  using ForwardingFileSystem::ForwardingFileSystem;
  bool refusesDirect = false;
  int direct = 0, buffered = 0;
  Bytes written = 0, end = 0;

  Result<std::unique_ptr<File>> open(const Path& path, OpenMode mode) override {
    if (mode == OpenMode::ReadWriteDirect && refusesDirect) {
      (void)ForwardingFileSystem::open(path, OpenMode::ReadWrite); // as real ones, which make the file first
      return failed("refused");
    }
    ++(mode == OpenMode::ReadWriteDirect ? direct : buffered);
    MILLRACE_TRY(auto file, ForwardingFileSystem::open(path, mode));
    return std::make_unique<Watched>(*this, std::move(file));
  }

 private:
  class Watched final : public ForwardingFile {
   public:
    Watched(WatchedFileSystem& system, std::unique_ptr<File> inner)
        : ForwardingFile(std::move(inner)), m_system(system) {}
    Status read(std::span<std::byte> to, Bytes offset) const override {
      if (offset % 4096 != 0 || to.size() % 4096 != 0 || reinterpret_cast<std::uintptr_t>(to.data()) % 4096 != 0)
        return failed("unaligned");
      return ForwardingFile::read(to, offset);
    }
    Status write(std::span<const std::byte> from, Bytes offset) override {
      if (offset % 4096 != 0 || from.size() % 4096 != 0 || reinterpret_cast<std::uintptr_t>(from.data()) % 4096 != 0)
        return failed("unaligned");
      m_system.written += static_cast<Bytes>(from.size());
      m_system.end = std::max(m_system.end, offset + static_cast<Bytes>(from.size()));
      return ForwardingFile::write(from, offset);
    }

   private:
    WatchedFileSystem& m_system;
  };
};

const Path folder = "/disk";

/// One thread, since file systems of tests are for one.
DiskProbeOptions small() {
  DiskProbeOptions options;
  options.mostBytes = 64 * 1024;
  options.seconds = 1000;
  options.threads = 1;
  options.request = 4096;
  return options;
}

} // namespace

class TestDiskRates : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_memory = std::make_unique<MemoryFileSystem>();
    QVERIFY(m_memory->createDirectories(folder).has_value());
  }

  void ratesFollowFromTheClock() {
    double now = 0;
    const auto clock = [&] { return now += 0.5; }; // once at a pass's beginning, after each request, at its end
    WatchedFileSystem files(*m_memory);
    const auto measured = measureDisk(files, folder, small(), clock);
    QVERIFY2(measured.has_value(), measured ? "" : measured.error().message.c_str());
    QCOMPARE(measured->fileBytes, Bytes{64 * 1024});
    QCOMPARE(measured->write, 64 * 1024 / (17 * 0.5));
    QCOMPARE(measured->read, 16 * 64 * 1024 / (257 * 0.5));
    QVERIFY(measured->direct);
    QCOMPARE(files.written, Bytes{2 * 64 * 1024});
    QCOMPARE(files.end, Bytes{64 * 1024});
    QCOMPARE(files.direct, 1);
    QCOMPARE(files.buffered, 0);
    QVERIFY(m_memory->list(folder)->empty());
  }

  void timeEndsEachPass() {
    double now = 0;
    WatchedFileSystem files(*m_memory);
    DiskProbeOptions options = small();
    options.seconds = 2;
    const auto measured = measureDisk(files, folder, options, [&] { return now += 0.5; });
    QVERIFY(measured.has_value());
    QCOMPARE(measured->fileBytes, Bytes{4 * 4096});
    QCOMPARE(files.end, Bytes{4 * 4096}); // only what was laid down is written again and read
    QCOMPARE(files.written, Bytes{8 * 4096});
  }

  void unbufferedAccessMayBeRefused() {
    WatchedFileSystem files(*m_memory);
    files.refusesDirect = true;
    const auto measured = measureDisk(files, folder, small());
    QVERIFY2(measured.has_value(), measured ? "" : measured.error().message.c_str());
    QVERIFY(!measured->direct);
    QVERIFY(measured->read > 0 && measured->write > 0);
    QCOMPARE(files.direct, 0);
    QCOMPARE(files.buffered, 1);
    QVERIFY(m_memory->list(folder)->empty());
  }

  void freeSpaceBoundsTheFile_data() {
    QTest::addColumn<qint64>("free");
    QTest::addColumn<qint64>("file"); // 0: refused
    QTest::newRow("nothing") << qint64{0} << qint64{0};
    QTest::newRow("a byte too little") << qint64{2 * 4096 - 1} << qint64{0};
    QTest::newRow("one request") << qint64{2 * 4096} << qint64{4096};
    QTest::newRow("some") << qint64{10 * 4096} << qint64{5 * 4096};
    QTest::newRow("more than asked for") << qint64{1 << 30} << qint64{64 * 1024};
  }
  void freeSpaceBoundsTheFile() {
    QFETCH(qint64, free);
    QFETCH(qint64, file);
    FaultyFileSystem files(*m_memory);
    files.setFreeSpace(free);
    const auto measured = measureDisk(files, folder, small());
    QCOMPARE(measured.has_value(), file > 0);
    if (measured)
      QCOMPARE(qint64{measured->fileBytes}, file);
    else
      QCOMPARE(measured.error().kind, ErrorKind::OutOfSpace);
    QVERIFY(m_memory->list(folder)->empty());
  }

  /// Whichever operation fails, nothing stays; only unbuffered opening has a second way.
  void faultsLeaveNothing_data() {
    QTest::addColumn<int>("fault");
    QTest::newRow("errors") << static_cast<int>(Fault::Error);
    QTest::newRow("full") << static_cast<int>(Fault::NoSpace);
  }
  void faultsLeaveNothing() {
    QFETCH(int, fault);
    DiskProbeOptions options = small();
    options.mostBytes = 3 * 4096;
    int failures = 0, recovered = 0;
    for (int at = 0;; ++at) {
      FaultyFileSystem files(*m_memory);
      files.failAt(at, static_cast<Fault>(fault));
      const auto measured = measureDisk(files, folder, options);
      const bool happened = files.operations() > at;
      if (!measured) {
        ++failures;
        QVERIFY(measured.error().message.find("injected") != std::string::npos);
      } else if (happened && static_cast<Fault>(fault) == Fault::Error) {
        ++recovered;
        QVERIFY(!measured->direct);
      }
      QVERIFY2(m_memory->list(folder)->empty(), qPrintable(QString::number(at)));
      if (!happened) break;
    }
    QVERIFY(failures > 8);
    QCOMPARE(recovered, static_cast<Fault>(fault) == Fault::Error ? 1 : 0);
  }

  void foldersThatCannotBeUsed_data() {
    QTest::addColumn<QString>("path");
    QTest::newRow("missing") << "/nowhere/folder";
    QTest::newRow("a file") << "/proc/version";
    QTest::newRow("read-only, for every user") << "/proc/self";
  }
  void foldersThatCannotBeUsed() {
    QFETCH(QString, path);
    LocalFileSystem files;
    const auto measured = measureDisk(files, path.toStdString(), small());
    QVERIFY(!measured.has_value());
    QVERIFY2(measured.error().message.find(path.toStdString()) != std::string::npos, measured.error().message.c_str());
  }

  void wrongRequests() {
    DiskProbeOptions options = small();
    options.request = 5000;
    QCOMPARE(measureDisk(*m_memory, folder, options).error().kind, ErrorKind::BadInput);
    options = small();
    options.threads = 0;
    QCOMPARE(measureDisk(*m_memory, folder, options).error().kind, ErrorKind::BadInput);
  }

  void aRealDisk() {
    QTemporaryDir place;
    LocalFileSystem files;
    DiskProbeOptions options;
    options.mostBytes = 8 * MiB;
    options.seconds = 0.05;
    options.threads = 3;
    const auto measured = measureDisk(files, place.path().toStdString(), options);
    QVERIFY2(measured.has_value(), measured ? "" : measured.error().message.c_str());
    QVERIFY(measured->read > 0 && std::isfinite(measured->read));
    QVERIFY(measured->write > 0 && std::isfinite(measured->write));
    QVERIFY(measured->fileBytes >= MiB && measured->fileBytes <= 8 * MiB);
    QVERIFY(QDir(place.path()).isEmpty(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot));
  }

 private:
  std::unique_ptr<MemoryFileSystem> m_memory;
};

QTEST_GUILESS_MAIN(TestDiskRates)
#include "test_disk_rates.moc"
