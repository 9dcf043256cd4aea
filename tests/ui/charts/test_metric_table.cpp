// Rows are found by step, tokens and time; runs that go back; clocks that are put back.
#include "chart_tables.h"

#include <QSignalSpy>

using namespace millrace;
using namespace millrace::ui;

class TestMetricTable : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void findsRows_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("x");
    QTest::addColumn<qint64>("lower");
    QTest::addColumn<qint64>("upper");
    QTest::addColumn<qint64>("nearest");
    const int step = static_cast<int>(XAxisKind::Step), tokens = static_cast<int>(XAxisKind::Tokens),
              time = static_cast<int>(XAxisKind::Time);
    QTest::newRow("before all") << step << -5.0 << qint64{0} << qint64{0} << qint64{0};
    QTest::newRow("first") << step << 1.0 << qint64{0} << qint64{1} << qint64{0};
    QTest::newRow("within") << step << 500.0 << qint64{499} << qint64{500} << qint64{499};
    QTest::newRow("between, left") << step << 500.4 << qint64{500} << qint64{500} << qint64{499};
    QTest::newRow("between, right") << step << 500.6 << qint64{500} << qint64{500} << qint64{500};
    QTest::newRow("last") << step << 1000.0 << qint64{999} << qint64{1000} << qint64{999};
    QTest::newRow("after all") << step << 2000.0 << qint64{1000} << qint64{1000} << qint64{999};
    QTest::newRow("tokens") << tokens << 20'000.0 << qint64{19} << qint64{20} << qint64{19};
    QTest::newRow("time since the first row") << time << 0.0 << qint64{0} << qint64{1} << qint64{0};
    QTest::newRow("time") << time << 198.0 << qint64{99} << qint64{100} << qint64{99};
  }
  void findsRows() {
    QFETCH(int, kind);
    QFETCH(double, x);
    QFETCH(qint64, lower);
    QFETCH(qint64, upper);
    QFETCH(qint64, nearest);
    const auto table = tableOf(1000, [](std::int64_t row) { return static_cast<double>(row); });
    QCOMPARE(table->lowerBound(static_cast<XAxisKind>(kind), x), lower);
    QCOMPARE(table->upperBound(static_cast<XAxisKind>(kind), x), upper);
    QCOMPARE(table->nearestRow(static_cast<XAxisKind>(kind), x), nearest);
  }

  void emptyTable() {
    const auto table = tableOf(0, {});
    QCOMPARE(table->lowerBound(XAxisKind::Step, 1), 0);
    QCOMPARE(table->nearestRow(XAxisKind::Time, 1), -1);
    table->truncateFrom(1);
    QVERIFY(table->truncations().empty());
  }

  void timeOriginIsShared() {
    const auto table = tableOf(10, [](std::int64_t) { return 0.0; });
    table->setTimeOrigin(1.7e9 - 8);
    QCOMPARE(table->x(XAxisKind::Time)[0], 10.0);
    QCOMPARE(table->nearestRow(XAxisKind::Time, 14), 2);
  }

  void runGoesBack() {
    const auto table = tableOf(100, [](std::int64_t row) { return static_cast<double>(row); });
    table->pyramid(3);
    QSignalSpy changed(table.get(), &MetricTable::changed);
    table->truncateFrom(51);
    QCOMPARE(table->rows(), 50);
    QCOMPARE(changed.count(), 1);
    appendValues(*table, 10, [](std::int64_t) { return -1.0; });
    QCOMPARE(table->rows(), 60);
    QCOMPARE(table->value(3, 49), 49.0);
    QCOMPARE(table->value(3, 50), -1.0);
    const Extent extent = table->pyramid(3).extent(table->column(3), 0, 60);
    QCOMPARE(extent.max, 49.0);
    QCOMPARE(extent.min, -1.0);
    QCOMPARE(table->truncations(), std::vector<std::int64_t>{50});
  }

  void lowerStepsMeanThatTheRunWentBack() {
    const auto table = tableOf(5, [](std::int64_t) { return 1.0; });
    // Steps 6 and 7 of the run before, then 4 and 5 of the one that went on from step 3.
    const std::vector<double> rows = {6, 6000, 1.7e9 + 12, 2, 7, 7000, 1.7e9 + 14, 2,
                                      4, 4000, 1.7e9 + 90, 3, 5, 5000, 1.7e9 + 92, 3};
    QVERIFY(table->appendRows(rows).has_value());
    QCOMPARE(table->rows(), 5);
    QCOMPARE(table->value(0, 3), 4.0);
    QCOMPARE(table->value(3, 2), 1.0);
    QCOMPARE(table->value(3, 3), 3.0);
    QCOMPARE(table->truncations(), std::vector<std::int64_t>{3});
  }

  void clocksThatGoBackStandStill() {
    const auto table = tableOf(3, [](std::int64_t) { return 1.0; });
    const std::vector<double> rows = {4,          4000,     1.6e9, notANumber, 5,          notANumber,
                                      notANumber, infinity, 6,     6000,       1.7e9 + 20, 7};
    QVERIFY(table->appendRows(rows).has_value());
    QCOMPARE(table->rows(), 6);
    QCOMPARE(table->value(2, 3), 1.7e9 + 6);
    QCOMPARE(table->value(2, 4), 1.7e9 + 6);
    QCOMPARE(table->value(2, 5), 1.7e9 + 20);
    QCOMPARE(table->value(1, 4), 4000.0);
    QVERIFY(std::isnan(table->value(3, 3)));
    QCOMPARE(table->value(3, 4), infinity);
  }

  void pyramidsAreMadeWhenAskedFor() {
    const auto table = tableOf(10'000, [](std::int64_t row) { return static_cast<double>(row % 100); });
    QCOMPARE(table->pyramidBytes(), 0);
    const MinMaxPyramid& pyramid = table->pyramid(3);
    const std::int64_t bytes = table->pyramidBytes();
    QVERIFY(bytes > 0);
    appendValues(*table, 10'000, [](std::int64_t) { return 1000.0; });
    QVERIFY(table->pyramidBytes() > bytes);
    QCOMPARE(pyramid.extent(table->column(3), 9'000, 20'000).max, 1000.0);
    QCOMPARE(pyramid.extent(table->column(3), 0, 10'000).max, 99.0);
  }
};

QTEST_GUILESS_MAIN(TestMetricTable)
#include "test_metric_table.moc"
