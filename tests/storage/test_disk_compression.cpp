// What is compressed on its way to a disk, and what is told of it.
#include "storage/disk_compression.h"
#include "storage/disk_memory.h"

#include <QTest>
#include <chrono>
#include <thread>

using namespace millrace;
using namespace millrace::test;

namespace {

/// So many bytes each way, for which the disk needed two thousandths of a second.
void move(BlockMeter& meter, Bytes bytes) {
  for (const BlockAction action : {BlockAction::Read, BlockAction::Write}) {
    meter.begin(action);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    meter.end(action, bytes);
  }
}

} // namespace

class TestDiskCompression : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void automaticLooksAtTheDrive_data() {
    QTest::addColumn<qint64>("bytes"); // that the disk moves in two thousandths of a second
    QTest::addColumn<bool>("worth");
    QTest::newRow("a drive slower than any") << qint64{100} << true;
    QTest::newRow("a drive faster than any") << (qint64{1} << 50) << false;
  }
  void automaticLooksAtTheDrive() {
    QFETCH(const qint64, bytes);
    QFETCH(const bool, worth);
    BlockMeter meter;
    move(meter, bytes);
    DiskCompressor compressor(DiskCompression::Auto, {"first moments"}, 2, meter);
    int compressed = 0;
    constexpr int granules = 200;
    for (int g = 0; g < granules; ++g) {
      DiskMemory memory(64 * KiB);
      memory.fillNumbers(static_cast<std::uint64_t>(g));
      const Bytes stored = compressor.compress(0, memory.span(), 4);
      if (stored == 0) continue;
      ++compressed;
      QVERIFY(compressor.expand(0, memory.span(), 4, stored));
      DiskMemory expected(64 * KiB);
      expected.fillNumbers(static_cast<std::uint64_t>(g));
      QVERIFY(memory == expected);
    }
    if (worth)
      QCOMPARE(compressed, granules);
    else // it goes on looking, now and then
      QVERIFY2(compressed > 16 && compressed < 24, qPrintable(QString::number(compressed)));
  }

  void whatCannotGetSmallerIsLeft() {
    BlockMeter meter;
    move(meter, 100);
    DiskCompressor compressor(DiskCompression::Auto, {"remainders"}, 2, meter);
    for (int g = 0; g < 30; ++g) {
      DiskMemory memory(64 * KiB, static_cast<std::uint64_t>(g));
      QCOMPARE(compressor.compress(0, memory.span(), 2), Bytes{0});
      QVERIFY(memory == DiskMemory(64 * KiB, static_cast<std::uint64_t>(g)));
    }
    QCOMPARE(compressor.use().front().moved, compressor.use().front().contents);
  }

  void kindsAreCountedApart() {
    BlockMeter meter;
    DiskCompressor compressor(DiskCompression::On, {"first moments", "remainders"}, 2, meter);
    DiskMemory moments(MiB), remainders(MiB, 1);
    moments.fillNumbers(2);
    const Bytes stored = compressor.compress(0, moments.span(), 4);
    QCOMPARE(compressor.compress(1, remainders.span(), 2), Bytes{0});
    const std::vector<CompressionUse> use = compressor.use();
    QCOMPARE(use[0].kind, std::string("first moments"));
    QCOMPARE(use[0].contents, MiB);
    QCOMPARE(use[0].moved, alignUp(stored, pageBytes)); // whole pages are moved
    QCOMPARE(use[1].kind, std::string("remainders"));
    QCOMPARE(use[1].moved, MiB);
  }
};

QTEST_APPLESS_MAIN(TestDiskCompression)
#include "test_disk_compression.moc"
