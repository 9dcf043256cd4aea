// Whatever a disk does wrong, a tier never gives bytes that are not those written last: it finds out, reads once more,
// and else names the place.
#include "storage/disk_memory.h"
#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"
#include "support/unreliable_disk.h"

#include <QTest>
#include <map>

using namespace millrace;
using namespace millrace::test;

namespace {

DiskTierOptions optionsFor(int directories) {
  DiskTierOptions options;
  for (int d = 0; d < directories; ++d) options.directories.push_back("/disk" + std::to_string(d));
  options.shardBytes = 4 * MiB;
  options.io = DiskIo::Threads;
  options.queueDepth = 2;
  options.owner = "runs/test";
  return options;
}

/// A tier on an unreliable disk beside what must be in it.
class Trial {
 public:
  explicit Trial(ThreadPool& pool, int directories = 1) : m_memory(MiB + 20000), m_pool(pool) {
    m_log.addListener([this](LogLevel level, std::string_view text) {
      if (level == LogLevel::Warning) m_warnings.emplace_back(text);
    });
    std::vector<DiskRange> ranges = {{"weights of layers.0.mlp", 12000},
                                     {"first moments of layers.0.mlp", 40000},
                                     {"second moments of layers.0.mlp", 40000},
                                     {"gradients of layers.1.mlp", MiB + 20000}};
    m_tier = std::move(*DiskTier::create(m_disk, optionsFor(directories), std::move(ranges), m_pool, m_log));
    for (std::size_t r = 0; r < m_tier->ranges().size(); ++r) m_contents.emplace_back(bytesOf(r), 1000 + r);
  }

  UnreliableDisk& disk() { return m_disk; }
  const DiskTier& tier() const { return *m_tier; }
  Bytes bytesOf(std::size_t range) const { return m_tier->ranges()[range].bytes; }
  const std::vector<std::string>& warnings() const { return m_warnings; }

  Status write(std::size_t range, std::uint64_t seed) {
    m_contents[range].fill(seed);
    return test::write(*m_tier, {range, 0, bytesOf(range)}, m_contents[range]);
  }
  /// The error that the tier gave; what it gives without one must be right.
  Status read(std::size_t range) {
    MILLRACE_CHECK(test::read(*m_tier, {range, 0, bytesOf(range)}, m_memory));
    if (std::memcmp(m_memory.data(), m_contents[range].data(), static_cast<std::size_t>(bytesOf(range))) != 0)
      ++m_undetected;
    return {};
  }
  int undetected() const { return m_undetected; }

 private:
  MemoryFileSystem m_files;
  UnreliableDisk m_disk{m_files};
  Log m_log;
  DiskMemory m_memory;
  ThreadPool& m_pool;
  std::vector<std::string> m_warnings;
  std::vector<DiskMemory> m_contents;
  std::unique_ptr<DiskTier> m_tier;
  int m_undetected = 0;
};

const std::map<DiskFault, const char*> faultNames = {
    {DiskFault::FlippedOnce, "a bit flips on the way, once"},
    {DiskFault::FlippedReads, "bits flip on the way"},
    {DiskFault::FlippedOnDisk, "a bit flips on the disk"},
    {DiskFault::TornWrite, "a torn write"},
    {DiskFault::LostWrite, "a lost write"},
    {DiskFault::MisdirectedWrite, "a misdirected write"},
    {DiskFault::LateWrite, "reordered writes"},
    {DiskFault::ShortRead, "a short read"},
    {DiskFault::ReadErrorOnce, "an I/O error of a read, once"},
    {DiskFault::ReadErrors, "I/O errors of reads"},
    {DiskFault::WriteError, "an I/O error of a write"},
    {DiskFault::NoSpace, "no space for a write"},
    {DiskFault::Truncated, "a truncated file"},
};

} // namespace

class TestDiskTierFaults : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Ranges are written and read at random, and one request meets the fault. 1,300 runs.
  void nothingWrongIsTakenForGood_data() {
    QTest::addColumn<DiskFault>("fault");
    for (const auto& [fault, name] : faultNames) QTest::newRow(name) << fault;
  }
  void nothingWrongIsTakenForGood() {
    QFETCH(const DiskFault, fault);
    constexpr int runs = 100;
    int happened = 0, found = 0;
    for (int run = 0; run < runs; ++run) {
      Random random(static_cast<std::uint64_t>(run), faultNames.at(fault));
      Trial trial(m_pool, 1 + run % 2);
      const std::size_t ranges = trial.tier().ranges().size();
      for (std::size_t r = 0; r < ranges; ++r) QVERIFY(trial.write(r, random.next()).has_value());
      trial.disk().arm(fault, static_cast<std::int64_t>(random.below(6)), random.next());
      bool told = false;
      for (int i = 0; i < 16; ++i) {
        const auto range = static_cast<std::size_t>(random.below(ranges));
        const Status status = random.below(2) == 0 ? trial.write(range, random.next()) : trial.read(range);
        told = told || !status;
      }
      for (std::size_t r = 0; r < ranges; ++r) told = !trial.read(r) || told;
      QCOMPARE(trial.undetected(), 0);
      happened += trial.disk().happened() ? 1 : 0;
      found += told || !trial.warnings().empty() ? 1 : 0;
      if (!trial.disk().happened()) QVERIFY(!told && trial.warnings().empty());
      if (fault == DiskFault::FlippedOnce || fault == DiskFault::ReadErrorOnce) QVERIFY(!told);
    }
    // What is written over before anybody reads it harms nobody; the rest is found.
    QVERIFY2(happened > runs / 2, qPrintable(QString::number(happened)));
    QVERIFY2(found > happened / 3, qPrintable(QStringLiteral("%1 of %2").arg(found).arg(happened)));
  }

  void theFaultIsNamed_data() {
    QTest::addColumn<DiskFault>("fault");
    QTest::addColumn<QStringList>("words"); // of the error; none: it is read well the second time
    const QString place = "/shard-00000";
    const QStringList whole = {place, "first moments of layers.0.mlp", "bytes 0 to 40000", "millrace resume",
                               "memory.nvme.directories"};
    const auto row = [&](DiskFault fault, const QStringList& words) {
      QTest::newRow(faultNames.at(fault)) << fault << (words.isEmpty() ? words : whole + words);
    };
    row(DiskFault::FlippedOnce, {});
    row(DiskFault::ShortRead, {});
    row(DiskFault::ReadErrorOnce, {});
    row(DiskFault::FlippedReads, {"from byte 16384", "not what was written (version 2)", "in two readings"});
    row(DiskFault::FlippedOnDisk, {"from byte 16384", "not what was written (version 2)"});
    row(DiskFault::TornWrite, {"from byte 16384", "not what was written (version 2)"});
    row(DiskFault::LostWrite, {"an earlier version", "(version 2)", "a write was lost"});
  }
  void theFaultIsNamed() {
    QFETCH(const DiskFault, fault);
    QFETCH(const QStringList, words);
    Trial trial(m_pool);
    QVERIFY(trial.write(1, 1).has_value());
    trial.disk().arm(fault, 0, 12345);
    QVERIFY(trial.write(1, 2).has_value());
    const Status status = trial.read(1);
    QVERIFY(trial.disk().happened());
    QCOMPARE(trial.undetected(), 0);
    QCOMPARE(trial.tier().use().retries, std::int64_t{1});
    QCOMPARE(trial.warnings().size(), std::size_t{1});
    QVERIFY(trial.warnings().front().find("first moments of layers.0.mlp") != std::string::npos);
    QCOMPARE(status.has_value(), words.isEmpty());
    if (status) return;
    QCOMPARE(status.error().kind, ErrorKind::Failed);
    for (const QString& word : words)
      QVERIFY2(QString::fromStdString(status.error().message).contains(word), status.error().message.c_str());
  }

  void theFirstWriteIsLost() {
    Trial trial(m_pool);
    trial.disk().arm(DiskFault::LostWrite, 0, 0);
    QVERIFY(trial.write(0, 1).has_value());
    const Status status = trial.read(0);
    QVERIFY(!status && status.error().message.find("a write was lost") != std::string::npos);
  }

  void writesThatFailSayWhy_data() {
    QTest::addColumn<DiskFault>("fault");
    QTest::addColumn<ErrorKind>("kind");
    QTest::newRow("I/O error") << DiskFault::WriteError << ErrorKind::Failed;
    QTest::newRow("no space") << DiskFault::NoSpace << ErrorKind::OutOfSpace;
  }
  void writesThatFailSayWhy() {
    QFETCH(const DiskFault, fault);
    QFETCH(const ErrorKind, kind);
    Trial trial(m_pool);
    trial.disk().arm(fault, 0, 0);
    const Status status = trial.write(2, 1);
    QVERIFY(!status);
    QCOMPARE(status.error().kind, kind);
    for (const char* word : {"injected", "second moments of layers.0.mlp", "checkpoint"})
      QVERIFY2(status.error().message.find(word) != std::string::npos, status.error().message.c_str());
    QVERIFY(!trial.read(2)); // what it left is not taken for good
    QVERIFY(trial.write(2, 2).has_value());
    QVERIFY(trial.read(2).has_value());
    QCOMPARE(trial.undetected(), 0);
  }

  /// Every operation of making and removing a tier may fail: that is an error, and nothing is left that a later tier
  /// would trip over.
  void creationFailsCleanly_data() {
    QTest::addColumn<Fault>("fault");
    QTest::newRow("an error") << Fault::Error;
    QTest::newRow("no space") << Fault::NoSpace;
    QTest::newRow("the power goes") << Fault::Crash;
  }
  void creationFailsCleanly() {
    QFETCH(const Fault, fault);
    Log log;
    const std::vector<DiskRange> ranges = {{"plane", 9 * MiB}};
    int failures = 0;
    for (std::int64_t operation = 0;; ++operation) {
      MemoryFileSystem memory;
      FaultyFileSystem files(memory);
      files.failAt(operation, fault);
      const auto tier = DiskTier::create(files, optionsFor(2), ranges, m_pool, log);
      const bool happened = files.happened();
      if (tier.has_value() && !happened) break;
      if (!tier) {
        ++failures;
        QCOMPARE(tier.error().kind, fault == Fault::NoSpace ? ErrorKind::OutOfSpace : ErrorKind::Failed);
        if (fault != Fault::Crash) {
          for (const char* directory : {"/disk0", "/disk1"})
            if (memory.exists(directory)) QVERIFY(memory.list(directory)->empty());
        }
      }
      files.repair();
      QVERIFY(DiskTier::create(files, optionsFor(2), ranges, m_pool, log).has_value());
      QVERIFY2(operation < 1000, "creation comes to no end");
    }
    QVERIFY(failures > 5);
  }

 private:
  ThreadPool m_pool{2};
};

QTEST_APPLESS_MAIN(TestDiskTierFaults)
#include "test_disk_tier_faults.moc"
