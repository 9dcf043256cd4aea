// What is written to a tier on disk comes back, however it is cut up and by however many threads.
#include "storage/disk_memory.h"
#include "support/memory_file_system.h"

#include <QTest>
#include <cstring>
#include <thread>

using namespace millrace;
using namespace millrace::test;

class TestDiskTier : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() { m_files = std::make_unique<MemoryFileSystem>(); }

  void whatIsWrittenComesBack_data() {
    QTest::addColumn<int>("directories");
    QTest::addColumn<DiskCompression>("compression");
    QTest::newRow("one directory") << 1 << DiskCompression::Off;
    QTest::newRow("three directories") << 3 << DiskCompression::Off;
    QTest::newRow("one directory, compressed") << 1 << DiskCompression::On;
    QTest::newRow("three directories, compressed where it is worth it") << 3 << DiskCompression::Auto;
  }
  void whatIsWrittenComesBack() {
    QFETCH(const int, directories);
    QFETCH(const DiskCompression, compression);
    const std::vector<DiskRange> ranges = {{"small", 1000}, {"tail", 2 * MiB + 5}, {"whole", 6 * MiB}, {"none", 0}};
    auto tier = make(directories, ranges, compression);
    std::vector<DiskMemory> contents;
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      contents.emplace_back(ranges[r].bytes, r);
      if (r > 0) contents.back().fillNumbers(r); // the first cannot be made smaller
      QVERIFY(write(*tier, {r, 0, ranges[r].bytes}, contents.back()).has_value());
    }
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      const DiskMemory back(ranges[r].bytes, 99);
      QVERIFY(read(*tier, {r, 0, ranges[r].bytes}, back).has_value());
      QVERIFY(back == contents[r]);
    }
    // Parts of several ranges in one call, and a part written over.
    const DiskMemory middle(MiB, 50);
    QVERIFY(write(*tier, {2, 3 * MiB, MiB}, middle).has_value());
    std::memcpy(contents[2].data() + 3 * MiB, middle.data(), MiB);
    const DiskMemory tail(5), part(3 * MiB), expected(3 * MiB);
    const std::vector<DiskTransfer> both = {{{1, 2 * MiB, 5}, tail.data()}, {{2, 2 * MiB, 3 * MiB}, part.data()}};
    QVERIFY(tier->read(both).wait().has_value());
    QCOMPARE(std::memcmp(tail.data(), contents[1].data() + 2 * MiB, 5), 0);
    QCOMPARE(std::memcmp(part.data(), contents[2].data() + 2 * MiB, 3 * MiB), 0);
    QCOMPARE(tier->use().retries, std::int64_t{0});
  }

  void whatWasNeverWrittenIsZeroAndNotRead() {
    auto tier = make(1, {{"moments", 3 * MiB + 100}});
    QVERIFY(write(*tier, {0, MiB, MiB}, DiskMemory(MiB, 4)).has_value());
    const DiskMemory back(3 * MiB + 100, 5);
    QVERIFY(read(*tier, {0, 0, 3 * MiB + 100}, back).has_value());
    for (Bytes i = 0; i < 3 * MiB + 100; ++i)
      if (i < MiB || i >= 2 * MiB) QVERIFY2(back.data()[i] == std::byte{0}, qPrintable(QString::number(i)));
    QVERIFY(std::memcmp(back.data() + MiB, DiskMemory(MiB, 4).data(), MiB) == 0);
    QCOMPARE(tier->use().read.bytes, MiB);
  }

  void whatIsCompressedMovesFewerBytes() {
    std::vector<DiskRange> ranges = {{"first moments of a", 2 * MiB, "first moments", 4},
                                     {"remainders of a", MiB, "remainders", 2},
                                     {"first moments of b", MiB + 10, "first moments", 4}};
    auto tier = make(1, ranges, DiskCompression::On);
    Bytes contents = 0;
    for (std::size_t r = 0; r < ranges.size(); ++r) {
      DiskMemory memory(ranges[r].bytes, r);
      if (r != 1) memory.fillNumbers(r);
      QVERIFY(write(*tier, {r, 0, ranges[r].bytes}, memory).has_value());
      const DiskMemory back(ranges[r].bytes);
      QVERIFY(read(*tier, {r, 0, ranges[r].bytes}, back).has_value());
      QVERIFY(back == memory);
      contents += alignUp(ranges[r].bytes, pageBytes);
    }
    const std::vector<CompressionUse> use = tier->compression();
    QCOMPARE(use.size(), std::size_t{2});
    QCOMPARE(use[0].contents + use[1].contents, contents);
    QCOMPARE(use[0].moved + use[1].moved, tier->use().write.bytes); // what is told is what the disk was given
    QCOMPARE(tier->use().read.bytes, tier->use().write.bytes);
    QVERIFY(use[0].moved < use[0].contents * 85 / 100);
    QCOMPARE(use[1].moved, MiB);
    QVERIFY(make(1, ranges)->compression().empty());
  }

  void aTierOfNothing() {
    for (const std::vector<DiskRange>& ranges : {std::vector<DiskRange>{}, std::vector<DiskRange>{{"empty", 0}}}) {
      auto tier = make(2, ranges);
      QCOMPARE(tier->fileBytes(), Bytes{0});
      QVERIFY(tier->read({}).wait().has_value() && tier->write({}).wait().has_value());
      DiskTier::Pending pending;
      QVERIFY(pending.ready() && pending.wait().has_value());
    }
  }

  void severalThreadsTransferAtOnce() {
    constexpr int threads = 4;
    std::vector<DiskRange> ranges;
    for (int t = 0; t < threads; ++t) ranges.push_back({"plane " + std::to_string(t), 3 * MiB + 17});
    auto tier = make(2, ranges);
    std::atomic<int> wrong = 0;
    std::vector<std::thread> workers;
    for (std::size_t t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        DiskMemory out(3 * MiB + 17), in(3 * MiB + 17);
        for (std::uint64_t round = 0; round < 8; ++round) {
          out.fill(100 * t + round);
          const DiskSlice all{t, 0, 3 * MiB + 17};
          if (!write(*tier, all, out) || !read(*tier, all, in) || !(in == out)) ++wrong;
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    QCOMPARE(wrong.load(), 0);
    QCOMPARE(tier->use().write.bytes, alignUp(3 * MiB + 17, pageBytes) * threads * 8);
  }

  void theFilesGoWithTheTier() {
    auto tier = make(2, {{"plane", 9 * MiB}});
    for (const char* directory : {"/disk0", "/disk1"}) {
      const auto names = m_files->list(directory);
      QCOMPARE(names->size(), std::size_t{1});
      const Path folder = Path(directory) / names->front();
      const auto owner = readTextFile(*m_files, folder / "owner");
      QVERIFY(owner.has_value());
      for (const char* word : {"millrace state", "run: runs/test", "checkpoints"})
        QVERIFY2(owner->find(word) != std::string::npos, word);
      const auto shard = readTextFile(*m_files, folder / "shard-00000");
      QCOMPARE(shard->substr(0, owner->size()), *owner);
    }
    tier.reset();
    for (const char* directory : {"/disk0", "/disk1"}) QVERIFY(m_files->list(directory)->empty());
  }

 private:
  std::unique_ptr<DiskTier> make(int directories, std::vector<DiskRange> ranges,
                                 DiskCompression compression = DiskCompression::Off) {
    DiskTierOptions options;
    options.compression = compression;
    for (int d = 0; d < directories; ++d) options.directories.push_back("/disk" + std::to_string(d));
    options.shardBytes = 4 * MiB;
    options.owner = "runs/test";
    auto tier = DiskTier::create(*m_files, options, std::move(ranges), m_pool, m_log);
    if (!tier) qFatal("%s", tier.error().message.c_str());
    return std::move(*tier);
  }

  std::unique_ptr<MemoryFileSystem> m_files;
  ThreadPool m_pool{2};
  Log m_log;
};

QTEST_APPLESS_MAIN(TestDiskTier)
#include "test_disk_tier.moc"
