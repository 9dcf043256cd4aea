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

QTEST_GUILESS_MAIN(TestMemoryRates)
#include "test_memory_rates.moc"
