// AdamW through the disk gives the bits that AdamW in memory gives, whatever lies on disk and however many pieces and
// buffers there are; and what a drive fails to do is told to whoever waits for the update.
#include "optim/adamw.h"
#include "optim/disk_updater.h"

#include "base/page_memory.h"
#include "base/random.h"
#include "device/device.h"
#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"

#include <QtTest>

#include <cstring>
#include <fmt/format.h>
#include <map>
#include <vector>

using namespace millrace;
using namespace millrace::test;

namespace {

using Operand = TensorView AdamWArgs::*;

/// What the state of a block consists of.
struct Layout {
  bool split = false;
  DType gradient = DType::F32;
  std::vector<std::pair<Operand, DType>> operands() const {
    std::vector<std::pair<Operand, DType>> all{
        {&AdamWArgs::m, DType::F32}, {&AdamWArgs::v, DType::F32}, {&AdamWArgs::gradient, gradient}};
    if (split) {
      all.emplace_back(&AdamWArgs::hi, DType::U16);
      all.emplace_back(&AdamWArgs::lo, DType::I16);
    } else {
      all.emplace_back(&AdamWArgs::weight, DType::F32);
    }
    return all;
  }
};

/// Every plane of a block in memory, with values that a training might have.
class Block {
 public:
  Block(const Layout& layout, std::int64_t elements, std::uint64_t seed) : m_layout(layout), m_elements(elements) {
    Random random(seed, "block");
    for (const auto& [operand, dtype] : layout.operands()) {
      std::vector<std::byte> bytes(static_cast<std::size_t>(elements * bytesPerElement(dtype)));
      for (std::int64_t i = 0; i < elements; ++i) {
        const auto value = static_cast<float>(random.uniform() * 1e-2 - (operand == &AdamWArgs::v ? 0 : 5e-3));
        const BFloat16 narrow = toBFloat16(value);
        const auto remainder = static_cast<std::int16_t>(random.below(60000));
        std::byte* to = bytes.data() + i * bytesPerElement(dtype);
        if (dtype == DType::F32) std::memcpy(to, &value, sizeof value);
        if (dtype == DType::BF16 || dtype == DType::U16) std::memcpy(to, &narrow, sizeof narrow);
        if (dtype == DType::I16) std::memcpy(to, &remainder, sizeof remainder);
      }
      m_planes.emplace_back(std::move(bytes));
    }
  }

  std::vector<std::byte>& plane(std::size_t operand) { return m_planes[operand]; }

  /// Two ranges, the second without decay; `absent` operands have no memory.
  std::vector<AdamWArgs> ranges(const AdamWScalars& scalars, const std::vector<bool>& absent) {
    const std::int64_t cut = m_elements / 3;
    std::vector<AdamWArgs> all;
    for (const auto& [first, count] : {std::pair{std::int64_t{0}, cut}, {cut, m_elements - cut}}) {
      AdamWArgs args;
      args.scalars = scalars;
      args.decay = first == 0;
      const auto operands = m_layout.operands();
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const auto& [operand, dtype] = operands[i];
        std::byte* data = m_planes[i].data() + first * bytesPerElement(dtype);
        args.*operand = TensorView(absent[i] ? nullptr : data, dtype, Shape{count});
      }
      all.push_back(args);
    }
    return all;
  }

 private:
  Layout m_layout;
  std::int64_t m_elements;
  std::vector<std::vector<std::byte>> m_planes;
};

/// A tier and buffers with room for pieces of so many elements.
struct Disk {
  Disk(FileSystem& files, std::vector<DiskRange> ranges, ThreadPool& pool, int buffers, Bytes bufferBytes)
      : tier(valueOrThrow(
            DiskTier::create(files, {.directories = {"/disk"}, .shardBytes = 8 * MiB}, std::move(ranges), pool, log))) {
    for (int i = 0; i < buffers; ++i) {
      memory.push_back(allocatePages(bufferBytes));
      spans.emplace_back(memory.back().get(), static_cast<std::size_t>(bufferBytes));
    }
  }

  void write(std::size_t range, std::span<const std::byte> bytes) { move(range, bytes, {}); }
  std::vector<std::byte> read(std::size_t range, std::size_t size) {
    std::vector<std::byte> bytes(size);
    move(range, {}, bytes);
    return bytes;
  }
  void move(std::size_t range, std::span<const std::byte> source, std::span<std::byte> target) {
    const auto size = static_cast<Bytes>(source.size() + target.size());
    const PageMemory all = allocatePages(size);
    const DiskTransfer transfer{{range, 0, size}, all.get()};
    if (!source.empty()) std::memcpy(all.get(), source.data(), source.size());
    valueOrThrow((source.empty() ? tier->read({&transfer, 1}) : tier->write({&transfer, 1})).wait());
    if (!target.empty()) std::memcpy(target.data(), all.get(), target.size());
  }

  Log log;
  std::unique_ptr<DiskTier> tier;
  std::vector<PageMemory> memory;
  std::vector<std::span<std::byte>> spans;
};

AdamWScalars scalarsOf(std::int64_t step) {
  return adamWScalars({}, 1e-3, step, 0.7);
}

constexpr std::int64_t elements = 1200128; // three pieces of half a Mi, the last one short and no whole pages

} // namespace

class TestDiskUpdater : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void bits_data();
  void bits();
  void failures();
};

void TestDiskUpdater::bits_data() {
  QTest::addColumn<bool>("split");
  QTest::addColumn<bool>("narrow");
  QTest::addColumn<bool>("everything");
  QTest::addColumn<int>("buffers");
  for (const bool split : {false, true})
    for (const bool everything : {false, true})
      for (const int buffers : {1, 2, 3})
        QTest::addRow("%s, %s on disk, %d buffers", split ? "split" : "fp32", everything ? "everything" : "moments",
                      buffers)
            << split << (split && everything) << everything << buffers;
}

/// Three blocks, updated twice.
void TestDiskUpdater::bits() {
  QFETCH(bool, split);
  QFETCH(bool, narrow);
  QFETCH(bool, everything);
  QFETCH(int, buffers);
  const Layout layout{split, narrow ? DType::BF16 : DType::F32};
  const auto operands = layout.operands();
  std::vector<bool> onDisk;
  Bytes bytes = 0;
  for (const auto& [operand, dtype] : operands) {
    const bool updatedAlone = operand == &AdamWArgs::m || operand == &AdamWArgs::v || operand == &AdamWArgs::lo;
    onDisk.push_back(everything || updatedAlone);
    if (onDisk.back()) bytes += bytesPerElement(dtype);
  }
  ThreadPool pool(2);
  MemoryFileSystem files;
  const auto device = createCpuDevice(pool, MiB, MiB);
  std::vector<Block> expected, actual;
  std::vector<DiskRange> ranges;
  for (std::uint64_t seed : {1, 2, 3}) {
    expected.emplace_back(layout, elements, seed);
    actual.emplace_back(layout, elements, seed);
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (onDisk[i])
        ranges.push_back(
            {fmt::format("plane {} of block {}", i, seed), elements * bytesPerElement(operands[i].second)});
  }
  Disk disk(files, ranges, pool, buffers, 512 * 1024 * bytes);
  std::vector<std::vector<DiskUpdate::Operand>> places(actual.size());
  std::size_t next = 0;
  for (std::size_t b = 0; b < actual.size(); ++b)
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (onDisk[i]) {
        disk.write(next, actual[b].plane(i));
        std::fill(actual[b].plane(i).begin(), actual[b].plane(i).end(), std::byte{0xee}); // that no one reads
        places[b].push_back({operands[i].first, next++});
      }

  DiskUpdater updater(*disk.tier, pool, disk.spans);
  for (std::int64_t step = 1; step <= 2; ++step) {
    std::vector<HostSignal> done;
    for (std::size_t b = 0; b < actual.size(); ++b) {
      done.push_back(device->createHostSignal());
      updater.submit({Event(), actual[b].ranges(scalarsOf(step), onDisk), places[b], done.back()});
      adamWUpdate(pool, expected[b].ranges(scalarsOf(step), std::vector<bool>(operands.size())), bestAdamWIsa());
    }
    for (const HostSignal& signal : done) signal.event().synchronize();
  }
  QVERIFY(updater.busySeconds() > 0);
  for (std::size_t b = 0; b < actual.size(); ++b) {
    std::size_t place = 0;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (onDisk[i]) actual[b].plane(i) = disk.read(places[b][place++].range, actual[b].plane(i).size());
      QVERIFY2(actual[b].plane(i) == expected[b].plane(i), qPrintable(QString("plane %1 of block %2").arg(i).arg(b)));
    }
  }
  // The gradient is read and not written.
  const Bytes all = 3 * 2 * elements * bytes;
  const Bytes gradient = everything ? 3 * 2 * elements * bytesPerElement(layout.gradient) : 0;
  const Bytes before = 3 * elements * bytes;
  QVERIFY(disk.tier->use().write.bytes - before - (all - gradient) < 1000 * pageBytes);
  QVERIFY(disk.tier->use().write.bytes - before >= all - gradient);
}

/// Each operation of an update fails once: the update's signal tells, and those before it stand.
void TestDiskUpdater::failures() {
  const Layout layout{true, DType::F32};
  const std::vector<bool> onDisk{true, true, true, true, true};
  ThreadPool pool(2);
  int failed = 0;
  for (std::int64_t at = 0; at < 60; at += 3) {
    MemoryFileSystem memory;
    FaultyFileSystem files(memory);
    const auto device = createCpuDevice(pool, MiB, MiB);
    std::vector<DiskRange> ranges;
    std::vector<DiskUpdate::Operand> places;
    Block block(layout, elements, 1);
    for (const auto& [operand, dtype] : layout.operands()) {
      places.push_back({operand, ranges.size()});
      ranges.push_back({fmt::format("plane {}", ranges.size()), elements * bytesPerElement(dtype)});
    }
    Disk disk(files, ranges, pool, 3, 512 * 1024 * 16);
    for (std::size_t i = 0; i < ranges.size(); ++i) disk.write(i, block.plane(i));
    files.failAt(at, Fault::Crash);
    DiskUpdater updater(*disk.tier, pool, disk.spans);
    const HostSignal done = device->createHostSignal();
    updater.submit({Event(), block.ranges(scalarsOf(1), onDisk), places, done});
    try {
      done.event().synchronize();
    } catch (const EngineException& problem) {
      ++failed;
      QVERIFY2(problem.error().message.find("plane ") != std::string::npos, problem.error().message.c_str());
    }
    files.repair();
  }
  QVERIFY2(failed >= 10, qPrintable(QString::number(failed)));
}

QTEST_GUILESS_MAIN(TestDiskUpdater)
#include "test_disk_updater.moc"
