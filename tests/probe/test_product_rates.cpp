// Products are measured at the largest size that is quick and fits.
#include "probe/product_rates.h"

#include <QtTest>
#include <cmath>

using namespace millrace;

class TestProductRates : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void side_data() {
    QTest::addColumn<double>("flops"); // of the device, per second
    QTest::addColumn<qint64>("bytes");
    QTest::addColumn<qint64>("width");
    QTest::addColumn<qint64>("side");
    const qint64 plenty = qint64{4} << 30;
    // A product of side n takes 2 n^3 / flops seconds, a quarter of a second is allowed.
    QTest::newRow("very slow") << 1e6 << plenty << qint64{4} << qint64{128};
    QTest::newRow("two cores") << 1e11 << plenty << qint64{4} << qint64{2048};
    QTest::newRow("many cores") << 2e12 << plenty << qint64{4} << qint64{4096};
    QTest::newRow("a GPU") << 8e14 << plenty << qint64{2} << qint64{8192};
    QTest::newRow("a GPU with little memory") << 8e14 << qint64{3 * 2 * 2048 * 2048} << qint64{2} << qint64{2048};
    QTest::newRow("a byte less") << 8e14 << qint64{3 * 2 * 2048 * 2048 - 1} << qint64{2} << qint64{1024};
    QTest::newRow("wider elements") << 8e14 << qint64{3 * 2 * 2048 * 2048} << qint64{4} << qint64{1024};
    QTest::newRow("no memory") << 8e14 << qint64{0} << qint64{4} << qint64{128};
  }
  void side() {
    QFETCH(double, flops);
    QFETCH(qint64, bytes);
    QFETCH(qint64, width);
    std::int64_t largest = 0;
    const std::int64_t found = productSide(0.25, bytes, width, [&](std::int64_t n) {
      largest = std::max(largest, n);
      return 2 * std::pow(static_cast<double>(n), 3) / flops;
    });
    QTEST(qint64{found}, "side");
    QVERIFY(largest <= found); // nothing larger was tried
  }

  void measures_data() {
    QTest::addColumn<int>("precision");
    QTest::newRow("fp32") << static_cast<int>(Precision::Fp32);
    QTest::newRow("bf16") << static_cast<int>(Precision::Bf16);
  }
  void measures() {
    QFETCH(int, precision);
    ThreadPool pool(2);
    const auto device = createCpuDevice(pool, 4 * MiB, MiB);
    const auto rate = measureProducts(*device, static_cast<Precision>(precision), 0.01, 4 * MiB);
    QVERIFY2(rate.has_value(), rate ? "" : rate.error().message.c_str());
    QVERIFY(rate->side >= 128 && rate->side <= (precision == static_cast<int>(Precision::Fp32) ? 512 : 1024));
    QVERIFY(rate->flopsPerSecond > 0 && std::isfinite(rate->flopsPerSecond));
    QCOMPARE(device->memoryUse(MemorySpace::Device).used, Bytes{0});
    QCOMPARE(device->memoryUse(MemorySpace::Host).used, Bytes{0});
  }

  void doesNotFit() {
    ThreadPool pool(1);
    const auto device = createCpuDevice(pool, 100'000, MiB);
    const auto rate = measureProducts(*device, Precision::Fp32, 0.01, 100'000);
    QVERIFY(!rate.has_value());
    QCOMPARE(rate.error().kind, ErrorKind::DoesNotFit);
    QCOMPARE(device->memoryUse(MemorySpace::Device).used, Bytes{0});
  }
};

QTEST_GUILESS_MAIN(TestProductRates)
#include "test_product_rates.moc"
