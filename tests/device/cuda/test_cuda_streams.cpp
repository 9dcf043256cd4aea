// Memory, streams, events and host signals of the CUDA device.
#include "device/cuda/gpu.h"
#include "device/gpus.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <thread>

using namespace millrace;
using millrace::test::Gpu;

class TestCudaStreams : public QObject {
  Q_OBJECT

  static std::vector<int> counted(std::size_t count) {
    std::vector<int> values(count);
    std::iota(values.begin(), values.end(), 1);
    return values;
  }
  static Bytes sizeOf(const std::vector<int>& values) { return static_cast<Bytes>(values.size() * sizeof(int)); }

 private Q_SLOTS:
  void memoryIsZeroAndCapped() {
    Gpu gpu;
    MILLRACE_NEED_GPU(gpu);
    for (const MemorySpace space : {MemorySpace::Device, MemorySpace::Host}) {
      const Bytes odd = 5 * MiB + 12;
      const auto stream = gpu.device().createStream("copy");
      {
        const Buffer buffer = gpu.allocate(odd, space);
        QCOMPARE(gpu.device().memoryUse(space).used, odd);
        std::vector<char> back(static_cast<std::size_t>(odd), 1);
        stream->copy(back.data(), buffer.data(), odd);
        stream->synchronize();
        QVERIFY(std::all_of(back.begin(), back.end(), [](char c) { return c == 0; }));
        const auto refused = gpu.device().allocate(8 * GiB, space, "the rest");
        QVERIFY(!refused);
        QVERIFY(refused.error().kind == ErrorKind::DoesNotFit);
        QVERIFY(refused.error().message.find("the rest") != std::string::npos);
      }
      QCOMPARE(gpu.device().memoryUse(space).used, Bytes{0});
      QCOMPARE(gpu.device().memoryUse(space).peak, odd);
    }
  }

  /// What is copied in right after memory was allocated stays there, while the GPU is busy too.
  void zeroingIsOverWhenMemoryIsGiven() {
    Gpu gpu;
    MILLRACE_NEED_GPU(gpu);
    const std::vector<int> values = counted(1024);
    const Buffer pinned = gpu.allocate(sizeOf(values), MemorySpace::Host);
    std::memcpy(pinned.data(), values.data(), static_cast<std::size_t>(sizeOf(values)));
    const Buffer large = gpu.allocate(GiB);
    const auto busy = gpu.device().createStream("busy"), stream = gpu.device().createStream("in");
    for (int i = 0; i < 300; ++i) {
      busy->zero(large.data(), large.bytes());
      const Buffer buffer = gpu.allocate(64 * MiB);
      std::byte* end = buffer.data() + buffer.bytes() - sizeOf(values);
      stream->copy(end, pinned.data(), sizeOf(values));
      std::vector<int> back(values.size());
      stream->synchronize();
      busy->synchronize();
      stream->copy(back.data(), end, sizeOf(values));
      stream->synchronize();
      QVERIFY(back == values);
    }
  }

  void moreThanTheGpuHasIsAnError() {
    ThreadPool pool(1);
    Gpu gpu;
    MILLRACE_NEED_GPU(gpu);
    const auto large = valueOrThrow(createCudaDevice(pool, 0, 100'000 * GiB, GiB));
    const auto refused = large->allocate(50'000 * GiB, MemorySpace::Device, "everything");
    QVERIFY(!refused);
    QVERIFY(refused.error().kind == ErrorKind::DoesNotFit);
    QVERIFY(refused.error().message.find("everything") != std::string::npos);
    QVERIFY(large->allocate(MiB, MemorySpace::Device, "a little").has_value()); // and it goes on
  }

  void copiesGoThereAndBack() {
    Gpu gpu;
    MILLRACE_NEED_GPU(gpu);
    const std::vector<int> values = counted(1'000'003);
    const Buffer pinned = gpu.allocate(sizeOf(values), MemorySpace::Host), device = gpu.allocate(sizeOf(values));
    std::memcpy(pinned.data(), values.data(), static_cast<std::size_t>(sizeOf(values)));
    const auto in = gpu.device().createStream("in"), out = gpu.device().createStream("out");
    in->copy(device.data(), pinned.data(), sizeOf(values));
    out->wait(in->record());
    std::vector<int> back(values.size());
    out->copy(back.data(), device.data(), sizeOf(values));
    out->synchronize();
    QVERIFY(back == values);
    QCOMPARE(in->use().copiedBytes, sizeOf(values));
    QVERIFY(in->use().copySeconds > 0);
    QVERIFY(in->use().busySeconds >= in->use().copySeconds);
    for (const Buffer* buffer : {&pinned, &device}) {
      in->zero(buffer->data() + 4, 8);
      in->copy(back.data(), buffer->data(), 16);
      in->synchronize();
      QVERIFY((std::vector<int>(back.begin(), back.begin() + 4) == std::vector<int>{1, 0, 0, 4}));
    }
  }

  /// The host announces it after the work that waits has been submitted, and submitting does not wait.
  void streamsWaitForTheHost() {
    Gpu gpu;
    MILLRACE_NEED_GPU(gpu);
    const Buffer pinned = gpu.allocate(sizeof(int), MemorySpace::Host), device = gpu.allocate(sizeof(int));
    const auto stream = gpu.device().createStream("in");
    for (int round = 1; round <= 3000; ++round) { // words are used again
      const HostSignal signal = gpu.device().createHostSignal();
      const auto begin = std::chrono::steady_clock::now();
      stream->wait(signal.event(), Stall::Optimizer);
      stream->copy(device.data(), pinned.data(), sizeof(int));
      const Event done = stream->record();
      const bool measured = round % 1000 == 0;
      if (measured) {
        QVERIFY(std::chrono::steady_clock::now() - begin < std::chrono::seconds(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        QVERIFY(!done.ready());
        QVERIFY(!signal.event().ready());
      }
      std::memcpy(pinned.data(), &round, sizeof round);
      signal.signal();
      done.synchronize();
      int seen = 0;
      stream->copy(&seen, device.data(), sizeof seen);
      stream->synchronize();
      QCOMPARE(seen, round);
    }
    QVERIFY(stream->use().stallSeconds[static_cast<std::size_t>(Stall::Optimizer)] >= 0.05);
    QVERIFY(stream->use().stallSeconds[static_cast<std::size_t>(Stall::Weights)] == 0);
  }

  void aFailedUpdateFailsWhoeverWaitedForIt() {
    Gpu gpu;
    MILLRACE_NEED_GPU(gpu);
    const auto stream = gpu.device().createStream("in");
    const HostSignal unused = gpu.device().createHostSignal();
    unused.fail({ErrorKind::Failed, "nobody minds"});
    stream->synchronize();
    const HostSignal signal = gpu.device().createHostSignal();
    stream->wait(signal.event());
    const Event after = stream->record();
    signal.fail({ErrorKind::Interrupted, "given up"});
    QVERIFY_EXCEPTION_THROWN(signal.event().synchronize(), EngineException);
    try {
      after.synchronize();
      QFAIL("it must not be believed");
    } catch (const EngineException& problem) {
      QVERIFY(problem.error().kind == ErrorKind::Interrupted);
      QCOMPARE(problem.error().message, std::string("given up"));
    }
  }

  void hostTasksRunInOrderAndTellTheirFailure() {
    Gpu gpu;
    MILLRACE_NEED_GPU(gpu);
    const auto stream = gpu.device().createStream("in"), other = gpu.device().createStream("other");
    std::vector<int> order;
    for (int i = 0; i < 100; ++i) stream->hostTask([&order, i] { order.push_back(i); });
    stream->synchronize();
    QCOMPARE(order.size(), std::size_t{100});
    QVERIFY(std::is_sorted(order.begin(), order.end()));
    stream->hostTask([] { throw EngineException({ErrorKind::OutOfSpace, "no room"}); });
    other->wait(stream->record());
    try {
      other->synchronize();
      QFAIL("a failed task must be told");
    } catch (const EngineException& problem) {
      QVERIFY(problem.error().kind == ErrorKind::OutOfSpace);
    }
  }

  void streamsOverlap() {
    Gpu gpu;
    MILLRACE_NEED_GPU(gpu);
    const auto first = gpu.device().createStream("first"), second = gpu.device().createStream("second");
    std::atomic<bool> released = false;
    const HostSignal signal = gpu.device().createHostSignal();
    first->wait(signal.event());
    second->hostTask([&] { released = true; });
    second->synchronize(); // while the first still stands
    QVERIFY(released);
    signal.signal();
    first->synchronize();
  }

  /// A slower link is imitated, each way for itself, and what is copied stays right.
  void aLimitedLinkTakesItsTime() {
    Gpu gpu;
    MILLRACE_NEED_GPU(gpu);
    constexpr Bytes bytes = 64 * MiB;
    gpu.device().limitLink(1e9);
    const auto in = gpu.device().createStream("in"), also = gpu.device().createStream("also");
    const Buffer host = gpu.allocate(bytes, MemorySpace::Host), back = gpu.allocate(bytes, MemorySpace::Host);
    const Buffer one = gpu.allocate(bytes), other = gpu.allocate(bytes);
    std::memset(host.data(), 7, static_cast<std::size_t>(bytes));
    const auto secondsOf = [&](const auto& work) {
      const auto begin = std::chrono::steady_clock::now();
      work();
      in->synchronize();
      also->synchronize();
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    const double least = static_cast<double>(bytes) / 1e9;
    const double single = secondsOf([&] { in->copy(one.data(), host.data(), bytes); });
    QVERIFY2(single >= least && single < 2 * least, qPrintable(QString::number(single)));
    const double turns = secondsOf([&] { // of one way they take turns, whatever their stream
      in->copy(one.data(), host.data(), bytes);
      also->copy(other.data(), host.data(), bytes);
    });
    QVERIFY2(turns >= 2 * least && turns < 3 * least, qPrintable(QString::number(turns)));
    const double both = secondsOf([&] {
      in->copy(one.data(), host.data(), bytes);
      also->copy(back.data(), other.data(), bytes);
    });
    QVERIFY2(both >= least && both < 1.8 * least, qPrintable(QString::number(both)));
    QVERIFY(std::memcmp(back.data(), host.data(), static_cast<std::size_t>(bytes)) == 0);
    const double inside = secondsOf([&] { in->copy(one.data(), other.data(), bytes); });
    QVERIFY2(inside < least, qPrintable(QString::number(inside)));
  }

  void whatTheContextTakesIsTold() {
    Gpu gpu;
    MILLRACE_NEED_GPU(gpu);
    const auto memory = gpuMemory(0);
    QVERIFY2(memory.has_value(), memory ? "" : memory.error().message.c_str());
    QVERIFY(memory->free > 0 && memory->free < memory->total);
    const Buffer buffer = gpu.allocate(GiB);
    const auto less = gpuMemory(0);
    QVERIFY(less.has_value() && memory->free - less->free >= GiB - 64 * MiB);
    QVERIFY(!cudaIndexOf("ffff:ff:1f.0").has_value());
  }

  void otherGpusAndNamesAreRefused() {
    ThreadPool pool(1);
    QVERIFY(!createCudaDevice(pool, 99, GiB, GiB));
    for (const char* name : {"cuda:", "cuda:x", "cuda:-1", "cuda:0x", "gpu", ""}) {
      const auto opened = openDevice(name, pool, GiB, GiB);
      QVERIFY2(!opened && opened.error().kind == ErrorKind::BadInput, name);
    }
  }
};

QTEST_MAIN(TestCudaStreams)
#include "test_cuda_streams.moc"
