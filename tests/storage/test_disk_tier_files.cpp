// A tier in files of this machine: io_uring and threads move the same bytes, what a killed process left goes, and a
// full or damaged disk is named.
#include "storage/disk_memory.h"
#include "support/forwarding_file_system.h"

#include <QTemporaryDir>
#include <QTest>
#include <cerrno>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <thread>

using namespace millrace;
using namespace millrace::test;

namespace {

class SmallDisk final : public ForwardingFileSystem {
 public:
  using ForwardingFileSystem::ForwardingFileSystem;
  Result<Bytes> freeSpace(const Path&) override { return 5 * MiB; }
};

/// From now on the kernel refuses io_uring to this thread, as containers do.
bool forbidUring() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter = {4, program};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

} // namespace

class TestDiskTierFiles : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    QVERIFY(m_folder->isValid());
    m_messages.clear();
  }

  void ioMovesTheSameBytes_data() {
    QTest::addColumn<DiskIo>("io");
    QTest::addColumn<QString>("place");
    QTest::addColumn<bool>("registered");
    for (const char* place : {"", "/dev/shm"}) {
      const char* where = *place ? "in memory" : "on disk";
      QTest::addRow("threads %s", where) << DiskIo::Threads << place << false;
      QTest::addRow("io_uring %s", where) << DiskIo::Uring << place << false;
      QTest::addRow("io_uring %s, registered buffers", where) << DiskIo::Uring << place << true;
      QTest::addRow("auto %s", where) << DiskIo::Auto << place << true;
    }
  }
  void ioMovesTheSameBytes() {
    QFETCH(const DiskIo, io);
    QFETCH(const QString, place);
    QFETCH(const bool, registered);
    const QTemporaryDir folder(place.isEmpty() ? m_folder->filePath("tier") : place + "/millrace-test");
    if (!folder.isValid()) QSKIP("no such file system here");
    constexpr Bytes bytes = 21 * MiB + 77;
    const DiskMemory out(bytes, 1), in(bytes, 2);
    DiskTierOptions options = optionsFor({folder.path().toStdString()});
    options.io = io;
    options.queueDepth = 4; // fewer than requests
    auto tier = make(m_files, options, {{"first", bytes}, {"second", bytes}});
    if (io == DiskIo::Uring && tier->description().find("io_uring") == std::string::npos)
      QSKIP(qPrintable("io_uring is refused here: " + m_messages));
    if (registered) {
      const std::vector<std::span<std::byte>> memory = {out.span(), in.span()};
      tier->registerMemory(memory);
      if (!m_messages.isEmpty()) qInfo("%s", qPrintable(m_messages)); // done without, which the rest of the test shows
    }
    qInfo("%s", tier->description().c_str());
    const DiskTransfer both[] = {{{0, 0, bytes}, out.data()}, {{1, 0, bytes}, out.data()}};
    auto pending = tier->write(both);
    const Status written = pending.wait();
    QVERIFY2(written.has_value(), written ? "" : written.error().message.c_str());
    QVERIFY(pending.ready());
    for (const std::size_t range : {std::size_t{0}, std::size_t{1}}) {
      std::memset(in.data(), 1, in.span().size());
      QVERIFY(read(*tier, {range, 0, bytes}, in).has_value());
      QVERIFY(in == out);
    }
    QCOMPARE(tier->use().write.bytes, 2 * alignUp(bytes, pageBytes));
    QCOMPARE(tier->use().read.bytes, 2 * alignUp(bytes, pageBytes));
    QVERIFY(tier->use().write.seconds > 0 && tier->use().read.seconds > 0);
  }

  void threadsServeWhereUringIsForbidden() {
    bool forbidden = false;
    std::string description;
    Status read = failed("not tried");
    std::thread contained([&] {
      forbidden = forbidUring();
      if (!forbidden) return;
      DiskTierOptions options = optionsFor({directory()});
      options.io = DiskIo::Uring;
      const auto tier = make(m_files, options, {{"plane", 3 * MiB}});
      description = tier->description();
      const DiskMemory memory(3 * MiB, 1);
      read = write(*tier, {0, 0, 3 * MiB}, memory);
      if (read) read = test::read(*tier, {0, 0, 3 * MiB}, memory);
    });
    contained.join();
    if (!forbidden) QSKIP("this system has no filters of system calls");
    QVERIFY2(read.has_value(), read ? "" : read.error().message.c_str());
    QVERIFY2(description.find("16 threads") == 0, description.c_str());
    QVERIFY2(m_messages.contains("io_uring: the system refuses it: Operation not permitted"), qPrintable(m_messages));
  }

  void aTruncatedFileIsNamed_data() {
    QTest::addColumn<DiskIo>("io");
    QTest::newRow("threads") << DiskIo::Threads;
    QTest::newRow("io_uring, where it is allowed") << DiskIo::Uring;
  }
  void aTruncatedFileIsNamed() {
    QFETCH(const DiskIo, io);
    DiskTierOptions options = optionsFor({directory()});
    options.io = io;
    auto tier = make(m_files, options, {{"first moments of layers.3.mlp", 6 * MiB}});
    const DiskMemory memory(6 * MiB, 1);
    QVERIFY(write(*tier, {0, 0, 6 * MiB}, memory).has_value());
    const Path folder = Path(directory()) / m_files.list(directory())->front();
    QVERIFY((*m_files.open(folder / "shard-00001", OpenMode::ReadWrite))->truncate(MiB + MiB / 2).has_value());
    QVERIFY(read(*tier, {0, 0, 5 * MiB}, memory).has_value());
    const Status status = read(*tier, {0, 0, 6 * MiB}, memory);
    QVERIFY(!status);
    QCOMPARE(status.error().kind, ErrorKind::Failed);
    for (const char* word : {"shard-00001", "ends at byte 1572864", "truncated", "first moments of layers.3.mlp",
                             "bytes 5242880 to 6291456", "millrace resume"})
      QVERIFY2(status.error().message.find(word) != std::string::npos, status.error().message.c_str());
    QCOMPARE(tier->use().retries, std::int64_t{1});
  }

  void whatADeadProcessLeftGoes() {
    const auto live = make(m_files, optionsFor({directory()}), {{"plane", MiB}});
    const std::string livesIn = m_files.list(directory())->front();
    // As a killed process leaves it: the lock is gone, the files are there.
    const Path dead = Path(directory()) / "millrace-state-0badcafe";
    QVERIFY(m_files.createDirectories(dead).has_value());
    for (const char* name : {"owner", "shard-00000"}) copy(Path(directory()) / livesIn / name, dead / name);
    // And things that only look like it.
    const Path strange = Path(directory()) / "millrace-state-mine";
    QVERIFY(m_files.createDirectories(strange).has_value());
    copy(Path(directory()) / livesIn / "owner", Path(directory()) / "owner");
    QVERIFY(
        (*m_files.open(strange / "owner", OpenMode::Create))->write(std::as_bytes(std::span("notes")), 0).has_value());

    const auto next = make(m_files, optionsFor({directory()}), {{"plane", MiB}});
    QVERIFY(!m_files.exists(dead));
    QVERIFY2(m_messages.contains("0badcafe"), qPrintable(m_messages));
    QVERIFY(m_files.exists(strange / "owner") && m_files.exists(Path(directory()) / "owner"));
    QVERIFY(m_files.exists(Path(directory()) / livesIn / "shard-00000"));
    QVERIFY(write(*live, {0, 0, MiB}, DiskMemory(MiB)).has_value());
    QCOMPARE(m_files.list(directory())->size(), std::size_t{4});
  }

  void tooLittleSpaceIsSaid() {
    SmallDisk files(m_files);
    Log log;
    const auto tier = DiskTier::create(files, optionsFor({directory()}), {{"plane", 6 * MiB}}, m_pool, log);
    QVERIFY(!tier);
    QCOMPARE(tier.error().kind, ErrorKind::OutOfSpace);
    for (const std::string& word : {std::string("6.0"), std::string("5.0"), directory(), std::string("memory.nvme")})
      QVERIFY2(tier.error().message.find(word) != std::string::npos, tier.error().message.c_str());
    QVERIFY(m_files.list(directory())->empty());
  }

  void roomIsReserved() {
    const auto tier = make(m_files, optionsFor({directory()}), {{"plane", 9 * MiB}});
    const Path folder = Path(directory()) / m_files.list(directory())->front();
    Bytes sum = 0;
    for (const char* shard : {"shard-00000", "shard-00001", "shard-00002"})
      sum += *(*m_files.open(folder / shard, OpenMode::Read))->size();
    QCOMPARE(sum, tier->fileBytes());
    QCOMPARE(sum, 9 * MiB + 3 * pageBytes);
  }

 private:
  std::string directory() const { return m_folder->filePath("tier").toStdString(); }
  void copy(const Path& from, const Path& to) {
    const auto text = readTextFile(m_files, from);
    QVERIFY((*m_files.open(to, OpenMode::Create))->write(std::as_bytes(std::span(*text)), 0).has_value());
  }
  static DiskTierOptions optionsFor(std::vector<std::string> directories) {
    DiskTierOptions options;
    for (const std::string& directory : directories) options.directories.emplace_back(directory);
    options.shardBytes = 4 * MiB;
    options.owner = "runs/test";
    return options;
  }
  std::unique_ptr<DiskTier> make(FileSystem& files, const DiskTierOptions& options, std::vector<DiskRange> ranges) {
    auto tier = DiskTier::create(files, options, std::move(ranges), m_pool, m_log);
    if (!tier) qFatal("%s", tier.error().message.c_str());
    return std::move(*tier);
  }

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_folder;
  QString m_messages;
  Log m_log;
  ThreadPool m_pool{2};
  const bool m_listening = [this] {
    m_log.addListener([this](LogLevel, std::string_view text) {
      m_messages += QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())) + '\n';
    });
    return true;
  }();
};

QTEST_APPLESS_MAIN(TestDiskTierFiles)
#include "test_disk_tier_files.moc"
