// Bytes of planes on disk at any place and of any length: what is read is what was written, and nothing beside it
// changes.
#include "base/page_memory.h"
#include "base/random.h"
#include "storage/disk_planes.h"
#include "support/memory_file_system.h"

#include <QtTest>

#include <algorithm>
#include <vector>

using namespace millrace;
using namespace millrace::test;

class TestDiskPlanes : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void anyPlace_data();
  void anyPlace();
  void rangesOfAPlan();
};

void TestDiskPlanes::anyPlace_data() {
  QTest::addColumn<qint64>("bytes");
  QTest::addColumn<qint64>("staging");
  QTest::newRow("smaller than a granule") << qint64{5000} << qint64{2 * pageBytes};
  QTest::newRow("whole granules") << qint64{3 * diskGranule} << qint64{diskGranule};
  QTest::newRow("several, the last one short")
      << qint64{3 * diskGranule + 777 * 256} << qint64{2 * diskGranule + pageBytes};
  QTest::newRow("staging for all") << qint64{2 * diskGranule + 256} << qint64{3 * diskGranule};
}

void TestDiskPlanes::anyPlace() {
  QFETCH(qint64, bytes);
  QFETCH(qint64, staging);
  ThreadPool pool(2);
  Log log;
  MemoryFileSystem files;
  const auto tier = valueOrThrow(DiskTier::create(files, {.directories = {"/disk"}, .shardBytes = 16 * MiB},
                                                  {{"before", 4096}, {"plane", bytes}, {"behind", 4096}}, pool, log));
  const PageMemory memory = allocatePages(staging);
  DiskPlanes planes(*tier, {memory.get(), static_cast<std::size_t>(staging)});
  const DiskPlanes::Plane plane{1, bytes};
  std::vector<std::byte> expected(static_cast<std::size_t>(bytes)); // what was never written is zero
  Random random(1, "places");
  for (int i = 0; i < 60; ++i) {
    const auto first = static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(bytes)));
    auto count = 1 + static_cast<std::size_t>(random.below(static_cast<std::uint64_t>(bytes) - first));
    if (i % 3 == 0) count = std::min<std::size_t>(count, 10);
    std::vector<std::byte> part(count);
    if (i % 2 == 0) {
      for (std::byte& byte : part) byte = static_cast<std::byte>(random.below(256));
      std::copy(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(first));
      QVERIFY(planes.write(plane, static_cast<Bytes>(first), part).has_value());
    } else {
      QVERIFY(planes.read(plane, static_cast<Bytes>(first), part).has_value());
      QVERIFY(std::equal(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(first)));
    }
  }
  std::vector<std::byte> all(expected.size());
  QVERIFY(planes.read(plane, 0, all).has_value());
  QVERIFY(all == expected);
  for (const std::size_t other : {std::size_t{0}, std::size_t{2}}) {
    std::vector<std::byte> untouched(4096, std::byte{1});
    QVERIFY(planes.read({other, 4096}, 0, untouched).has_value());
    QVERIFY(untouched == std::vector<std::byte>(4096));
  }
}

void TestDiskPlanes::rangesOfAPlan() {
  MemoryPlan plan;
  plan.allocations = {{"weights of a", MemoryTier::Host, MemoryCategory::Weights, 512},
                      {"first moments of a", MemoryTier::Disk, MemoryCategory::Moments, 1024},
                      {"second moments of a", MemoryTier::Disk, MemoryCategory::Moments, 2048}};
  const std::vector<DiskRange> ranges = diskRanges(plan);
  QCOMPARE(ranges.size(), std::size_t{2});
  QCOMPARE(ranges[0].name, std::string("first moments of a"));
  QCOMPARE(ranges[1].bytes, Bytes{2048});
  QCOMPARE(ranges[0].bytes + ranges[1].bytes, plan.total(MemoryTier::Disk));
}

QTEST_GUILESS_MAIN(TestDiskPlanes)
#include "test_disk_planes.moc"
