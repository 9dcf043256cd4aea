// Copies between disk and device memory: every byte arrives, in the order of the streams, through more pieces than
// there are buffers; a failure reaches whoever waits; and nothing waits for ever when a run ends in the middle.
#include "base/random.h"
#include "stream/disk_stream.h"
#include "support/faulty_file_system.h"
#include "support/memory_file_system.h"

#include <QtTest>

#include <vector>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr Bytes planeBytes = 5 * MiB + 3 * 256;

/// A device with a buffer for a plane, two host buffers of a granule and a tier of two planes.
struct Link {
  explicit Link(FileSystem& files) : pool(2), device(createCpuDevice(pool, 16 * MiB, 16 * MiB)) {
    MemoryPlan plan;
    for (int i = 0; i < 2; ++i)
      plan.allocations.push_back(
          {allocation_name::diskWeights(i), MemoryTier::Host, MemoryCategory::Staging, diskGranule + pageBytes});
    plan.allocations.push_back({"plane", MemoryTier::Device, MemoryCategory::WeightSlots, alignUp(planeBytes)});
    memory.emplace(valueOrThrow(PlannedMemory::allocate(*device, plan)));
    tier = valueOrThrow(DiskTier::create(files, {.directories = {"/disk"}, .shardBytes = 16 * MiB},
                                         {{"one", planeBytes}, {"other", planeBytes}}, pool, log));
    stream = DiskStream::create(*device, *tier, *memory, &allocation_name::diskWeights, "disk");
  }
  std::span<std::byte> plane() { return {memory->data("plane"), static_cast<std::size_t>(planeBytes)}; }

  ThreadPool pool;
  Log log;
  std::unique_ptr<Device> device;
  std::optional<PlannedMemory> memory;
  std::unique_ptr<DiskTier> tier;
  std::unique_ptr<DiskStream> stream;
};

std::vector<std::byte> noise(std::uint64_t seed) {
  Random random(seed, "noise");
  std::vector<std::byte> bytes(static_cast<std::size_t>(planeBytes));
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.below(256));
  return bytes;
}

} // namespace

class TestDiskStream : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void thereAndBack();
  void waitsForWhatItIsToldTo();
  void failures();
  void endsInTheMiddle();
};

void TestDiskStream::thereAndBack() {
  MemoryFileSystem files;
  Link link(files);
  const std::vector<std::byte> one = noise(1), other = noise(2);
  // Submitted at once: the streams keep the order.
  std::memcpy(link.plane().data(), one.data(), one.size());
  const Event oneWritten = link.stream->write(0, link.plane().data(), planeBytes);
  link.stream->out().copy(link.plane().data(), other.data(), planeBytes);
  const Event otherWritten = link.stream->write(1, link.plane().data(), planeBytes);
  link.stream->in().wait(link.stream->out().record());
  link.stream->read(0, oneWritten, link.plane().data(), planeBytes);
  link.stream->in().synchronize();
  QVERIFY(std::equal(one.begin(), one.end(), link.plane().begin()));
  link.stream->read(1, otherWritten, link.plane().data(), planeBytes);
  link.stream->synchronize();
  QVERIFY(std::equal(other.begin(), other.end(), link.plane().begin()));
  QCOMPARE(link.stream->in().use().copiedBytes, 2 * planeBytes);
}

void TestDiskStream::waitsForWhatItIsToldTo() {
  MemoryFileSystem files;
  Link link(files);
  const HostSignal current = link.device->createHostSignal();
  link.stream->read(0, current.event(), link.plane().data(), planeBytes);
  const Event there = link.stream->in().record();
  QVERIFY(!there.ready());
  QCOMPARE(link.tier->use().read.bytes, Bytes{0});
  const std::vector<std::byte> one = noise(1);
  const auto held = link.memory->bytes(allocation_name::diskWeights(0));
  QVERIFY(held > 0);
  const PageMemory pages = allocatePages(planeBytes);
  std::memcpy(pages.get(), one.data(), one.size());
  const DiskTransfer transfer{{0, 0, planeBytes}, pages.get()};
  QVERIFY(link.tier->write({&transfer, 1}).wait().has_value());
  current.signal();
  there.synchronize();
  QVERIFY(std::equal(one.begin(), one.end(), link.plane().begin()));
}

void TestDiskStream::failures() {
  MemoryFileSystem memory;
  FaultyFileSystem files(memory);
  Link link(files);
  link.stream->write(0, link.plane().data(), planeBytes).synchronize();
  files.failAt(2, Fault::Crash);
  link.stream->read(0, Event(), link.plane().data(), planeBytes);
  try {
    link.stream->in().synchronize();
    QFAIL("a failed read went unnoticed");
  } catch (const EngineException& problem) {
    QVERIFY2(problem.error().message.find("one") != std::string::npos, problem.error().message.c_str());
  }
  files.repair();
}

void TestDiskStream::endsInTheMiddle() {
  MemoryFileSystem files;
  Link link(files);
  const HostSignal never = link.device->createHostSignal();
  link.stream->read(0, never.event(), link.plane().data(), planeBytes);
  link.stream->read(1, Event(), link.plane().data(), planeBytes);
  const Event there = link.stream->in().record();
  never.fail({ErrorKind::Interrupted, "the update was given up"}); // as optimizers do when they are destroyed
  link.stream.reset();
  QVERIFY(there.ready());
  QVERIFY_EXCEPTION_THROWN(there.synchronize(), EngineException);
}

QTEST_GUILESS_MAIN(TestDiskStream)
#include "test_disk_stream.moc"
