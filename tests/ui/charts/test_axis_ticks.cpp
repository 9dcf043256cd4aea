// Numbers at axes as people read them, and ticks where there is room for them.
#include "charts/axis_ticks.h"

#include <QLocale>
#include <QTest>

using namespace millrace::ui;

Q_DECLARE_METATYPE(AxisNumbers)

class TestAxisTicks : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }

  void labels_data() {
    QTest::addColumn<AxisNumbers>("numbers");
    QTest::addColumn<double>("lower");
    QTest::addColumn<double>("upper");
    QTest::addColumn<bool>("logarithmic");
    QTest::addColumn<int>("count");
    QTest::addColumn<QStringList>("labels");
    const auto row = [](const char* name, AxisNumbers numbers, double lower, double upper, bool logarithmic, int count,
                        const QString& labels) {
      QString spaced = labels;
      QTest::newRow(name) << numbers << lower << upper << logarithmic << count
                          << spaced.replace(u'~', QChar::Nbsp).split(u'|');
    };
    using enum AxisNumbers;
    const double hour = 3600, day = 86'400, gib = 1024.0 * 1024 * 1024;
    row("loss", Plain, 1.9, 4.1, false, 5, QStringLiteral("2.0|2.5|3.0|3.5|4.0"));
    row("loss, close", Plain, 2.3411, 2.3419, false, 4, QStringLiteral("2.3412|2.3414|2.3416|2.3418"));
    row("around zero", Plain, -1.2, 1.2, false, 5, QStringLiteral("-1.0|-0.5|0|0.5|1.0"));
    row("learning rates", Plain, 0, 3.1e-4, false, 4, QStringLiteral("0|1e-4|2e-4|3e-4"));
    row("learning rates, close", Plain, 1e-4, 2.1e-4, false, 3, QStringLiteral("1e-4|1.5e-4|2e-4"));
    row("learning rates, very close", Plain, 2.98155090e-4, 2.98155111e-4, false, 3,
        QStringLiteral("2.9815509e-4|2.981551e-4|2.9815511e-4"));
    row("throughput", Plain, 0, 52'000, false, 3, QStringLiteral("0|20k|40k"));
    row("steps", Count, 0, 20, false, 5, QStringLiteral("0|5|10|15|20"));
    row("few steps", Count, 1, 3, false, 12, QStringLiteral("1|2|3"));
    row("thousands", Count, 0, 20'000, false, 4, QStringLiteral("0|5k|10k|15k|20k"));
    row("tokens", Count, 0, 2.1e6, false, 4, QStringLiteral("0|1M|2M"));
    row("tokens, halves", Count, 0, 2.1e6, false, 5, QStringLiteral("0|500k|1M|1.5M|2M"));
    row("very many tokens", Count, 0, 1e12, false, 5, QStringLiteral("0|200B|400B|600B|800B|1T"));
    row("few of very many", Count, 1e12, 1e12 + 200, false, 2,
        QStringLiteral("1,000,000,000,000|1,000,000,000,100|1,000,000,000,200"));
    row("bytes", Bytes, 0, 13 * gib, false, 4, QStringLiteral("0|4~GiB|8~GiB|12~GiB"));
    row("bytes, close", Bytes, 80 * gib, 80 * gib + 2.5 * 1024 * 1024, false, 3,
        QStringLiteral("81,920~MiB|81,921~MiB|81,922~MiB"));
    row("bytes, small", Bytes, 0, 2047, false, 4, QStringLiteral("0|512~B|1~KiB|1.5~KiB"));
    row("seconds", Elapsed, 0, 70, false, 4, QStringLiteral("0:00:00|0:00:30|0:01:00"));
    row("minutes", Elapsed, 0, 3 * hour + 60, false, 6, QStringLiteral("0:00|1:00|2:00|3:00"));
    row("quarters", Elapsed, 0, hour, false, 4, QStringLiteral("0:00|0:15|0:30|0:45|1:00"));
    row("days and hours", Elapsed, day, 2 * day, false, 4,
        QStringLiteral("1 d 0:00|1 d 6:00|1 d 12:00|1 d 18:00|2 d 0:00"));
    row("days", Elapsed, 0, 10 * day, false, 5, QStringLiteral("0:00|2 d|4 d|6 d|8 d|10 d"));
    row("decades", Plain, 0.009, 20'000, true, 8, QStringLiteral("0.01|0.1|1|10|100|1,000|10k"));
    row("many decades", Plain, 1e-9, 1e3, true, 5, QStringLiteral("1e-9|1e-6|0.001|1|1,000"));
    row("one decade", Plain, 1.5, 12, true, 6, QStringLiteral("2|5|10"));
    row("less than a decade", Plain, 2.1, 3.3, true, 6, QStringLiteral("2.2|2.4|2.6|2.8|3.0|3.2"));
  }
  void labels() {
    QFETCH(AxisNumbers, numbers);
    QFETCH(double, lower);
    QFETCH(double, upper);
    QFETCH(bool, logarithmic);
    QFETCH(int, count);
    QFETCH(QStringList, labels);
    const AxisTicks ticks = axisTicks({lower, upper}, numbers, logarithmic, count);
    QCOMPARE(QStringList(ticks.labels).join(u'|'), labels.join(u'|'));
    QCOMPARE(ticks.ticks.size(), ticks.labels.size());
    for (const double tick : ticks.ticks + ticks.subTicks)
      QVERIFY(tick >= lower - (upper - lower) * 1e-6 && tick <= upper + (upper - lower) * 1e-6);
    for (qsizetype i = 1; i < ticks.ticks.size(); ++i) QVERIFY(ticks.ticks[i] > ticks.ticks[i - 1]);
  }

  void rangesWithoutTicks() {
    QVERIFY(axisTicks({1, 1}, AxisNumbers::Plain, false, 5).ticks.isEmpty());
    QVERIFY(axisTicks({1, std::numeric_limits<double>::infinity()}, AxisNumbers::Plain, false, 5).ticks.isEmpty());
    QVERIFY(!axisTicks({-1, 1}, AxisNumbers::Plain, true, 5).ticks.isEmpty());
    QVERIFY(axisTicks({1, 1 + 1e-16}, AxisNumbers::Plain, false, 5).ticks.size() < 1000);
  }

  void readings_data() {
    QTest::addColumn<double>("value");
    QTest::addColumn<AxisNumbers>("numbers");
    QTest::addColumn<QString>("text");
    using enum AxisNumbers;
    QTest::newRow("loss") << 2.345 << Plain << QStringLiteral("2.345");
    QTest::newRow("five digits") << 2.3456789 << Plain << QStringLiteral("2.3457");
    QTest::newRow("whole") << 2.0 << Plain << QStringLiteral("2");
    QTest::newRow("negative") << -0.25 << Plain << QStringLiteral("-0.25");
    QTest::newRow("small") << 0.0123456 << Plain << QStringLiteral("0.012346");
    QTest::newRow("learning rate") << 3e-4 << Plain << QStringLiteral("3e-4");
    QTest::newRow("learning rate with digits") << 2.71828e-4 << Plain << QStringLiteral("2.7183e-4");
    QTest::newRow("throughput") << 41234.5 << Plain << QStringLiteral("41,235");
    QTest::newRow("large") << 1.25e6 << Plain << QStringLiteral("1.25M");
    QTest::newRow("very large") << 1.5e30 << Plain << QStringLiteral("1.5e30");
    QTest::newRow("bytes") << 4.5 * 1024 * 1024 * 1024 << Bytes << QStringLiteral("4.5\u00a0GiB");
    QTest::newRow("zero") << 0.0 << Plain << QStringLiteral("0");
    QTest::newRow("nan") << std::nan("") << Plain << QStringLiteral("NaN");
    QTest::newRow("infinity") << std::numeric_limits<double>::infinity() << Plain << QStringLiteral("+infinity");
  }
  void readings() {
    QFETCH(double, value);
    QFETCH(AxisNumbers, numbers);
    QFETCH(QString, text);
    QCOMPARE(readingText(value, numbers), text);
  }

  void positions() {
    QCOMPARE(positionText(XAxisKind::Step, 1234), QStringLiteral("step 1,234"));
    QCOMPARE(positionText(XAxisKind::Tokens, 5e9), QStringLiteral("5,000,000,000 tokens"));
    QCOMPARE(positionText(XAxisKind::Time, 3661), QStringLiteral("1:01:01"));
    QCOMPARE(positionText(XAxisKind::Time, 90'000), QStringLiteral("1 d 1:00:00"));
  }
};

QTEST_GUILESS_MAIN(TestAxisTicks)
#include "test_axis_ticks.moc"
