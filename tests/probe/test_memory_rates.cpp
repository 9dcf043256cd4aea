// Probes measure what they say, give their memory back, and refuse what does not fit.
#include "probe/memory_rates.h"

#include <QTest>

using namespace millrace;

class TestMemoryRates : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void adamW();
  void copies();
  void copiesThatDoNotFit();
  void besideCopies();
  void besideCopiesThatDoNotFit();
  void deviceMemory();
  void timeLimitsRounds();
};

void TestMemoryRates::adamW() {
  ThreadPool pool(2);
  const auto rates = measureAdamW(pool, 100'000, 3);
  QVERIFY2(rates.has_value(), rates ? "" : rates.error().message.c_str());
  QCOMPARE(rates->parameters, std::int64_t{2 * 65536}); // whole tasks
  QVERIFY(!rates->instructionSet.empty());
  for (const double rate : {rates->traffic, rates->fp32, rates->split, rates->fp32Share, rates->splitShare})
    QVERIFY(rate > 0 && rate < 1e12);
}

void TestMemoryRates::copies() {
  ThreadPool pool(1);
  const auto device = createCpuDevice(pool, 2 * MiB, 2 * MiB);
  const auto rates = measureCopies(*device, MiB, 3);
  QVERIFY2(rates.has_value(), rates ? "" : rates.error().message.c_str());
  QCOMPARE(rates->bytes, MiB);
  for (const double rate : {rates->in, rates->out, rates->both}) QVERIFY(rate > 1e5 && rate < 1e13);
  QCOMPARE(device->memoryUse(MemorySpace::Device).peak, 2 * MiB);
  QCOMPARE(device->memoryUse(MemorySpace::Device).used, Bytes{0});
  QCOMPARE(device->memoryUse(MemorySpace::Host).used, Bytes{0});
}

void TestMemoryRates::copiesThatDoNotFit() {
  ThreadPool pool(1);
  const auto device = createCpuDevice(pool, 2 * MiB - 1, 2 * MiB);
  const auto rates = measureCopies(*device, MiB, 1);
  QVERIFY(!rates.has_value());
  QCOMPARE(rates.error().kind, ErrorKind::DoesNotFit);
  QCOMPARE(device->memoryUse(MemorySpace::Device).used, Bytes{0});
}

void TestMemoryRates::besideCopies() {
  ThreadPool pool(2);
  const auto device = createCpuDevice(pool, 2 * MiB, 2 * MiB);
  const auto rates = measureAdamWBesideCopies(pool, *device, 100'000, MiB, 3);
  QVERIFY2(rates.has_value(), rates ? "" : rates.error().message.c_str());
  for (const double rate : {rates->fp32, rates->split}) QVERIFY(rate > 0 && rate < 1e12);
  QVERIFY(rates->copied >= 0 && rates->copied < 1e13);
  QCOMPARE(device->memoryUse(MemorySpace::Device).used, Bytes{0});
  QCOMPARE(device->memoryUse(MemorySpace::Host).used, Bytes{0});
}

void TestMemoryRates::besideCopiesThatDoNotFit() {
  ThreadPool pool(1);
  const auto device = createCpuDevice(pool, 2 * MiB, 2 * MiB - 1);
  const auto rates = measureAdamWBesideCopies(pool, *device, 100'000, MiB, 3);
  QVERIFY(!rates.has_value());
  QCOMPARE(rates.error().kind, ErrorKind::DoesNotFit);
}

void TestMemoryRates::deviceMemory() {
  ThreadPool pool(2);
  const auto device = createCpuDevice(pool, 16 * 100'000, 0);
  const auto rate = measureDeviceMemory(*device, 100'000, 3);
  QVERIFY2(rate.has_value(), rate ? "" : rate.error().message.c_str());
  QVERIFY(*rate > 0 && *rate < 1e14);
  QCOMPARE(device->memoryUse(MemorySpace::Device).peak, Bytes{16 * 100'000});
  QCOMPARE(device->memoryUse(MemorySpace::Device).used, Bytes{0});
  QVERIFY(!measureDeviceMemory(*device, 100'001, 3).has_value());
}

/// Each reading of the clock is a second later: the rate follows from it, whatever the machine does.
void TestMemoryRates::timeLimitsRounds() {
  ThreadPool pool(1);
  const auto device = createCpuDevice(pool, 2 * MiB, 2 * MiB);
  double now = 0;
  const auto rates = measureCopies(*device, MiB, {1, 1000, 20}, [&] { return now += 1; });
  QVERIFY(rates.has_value());
  QCOMPARE(rates->in, double(MiB));
  QCOMPARE(rates->both, 2 * double(MiB));
  QVERIFY(now < 50); // rounds of seven seconds: the warm-up and as many as begin within 20
}

QTEST_GUILESS_MAIN(TestMemoryRates)
#include "test_memory_rates.moc"
