// The moving average against its formula.
#include "charts/smoothed_column.h"

#include "chart_tables.h"

#include <bit>

using namespace millrace;
using namespace millrace::ui;

namespace {

double noisy(std::int64_t row) {
  return 5 * std::exp(-static_cast<double>(row) / 300) + std::sin(static_cast<double>(row) * 1.7);
}

double withOddities(std::int64_t row) {
  if (row < 3 || row % 17 == 5) return notANumber;
  if (row % 23 == 7) return infinity;
  return noisy(row);
}

/// sum of w^(n-i) x_i over sum of w^(n-i), of the finite ones.
double byFormula(const MetricTable& table, std::int64_t row, double weight) {
  double above = 0, below = 0, power = 1;
  for (; row >= 0; --row) {
    const double value = table.value(3, row);
    if (!std::isfinite(value)) continue;
    above += power * value;
    below += power;
    power *= weight;
  }
  return above / below;
}

void complete(SmoothedColumn& column) {
  for (bool done = false; !done;) {
    std::int64_t rows = 100'000;
    done = column.recomputeSome(rows);
  }
}

bool agrees(const SmoothedColumn& column, const MetricTable& table, double weight) {
  for (std::int64_t row = 0; row < table.rows(); ++row) {
    const double expected = byFormula(table, row, weight), actual = column.values()[row];
    if (std::isnan(expected) != std::isnan(actual)) return false;
    if (!std::isnan(expected) && std::abs(expected - actual) > 1e-9 * (1 + std::abs(expected))) return false;
  }
  return column.rows() == table.rows();
}

} // namespace

class TestSmoothedColumn : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void followsTheFormula_data() {
    QTest::addColumn<double>("weight");
    QTest::addColumn<bool>("odd");
    for (const double weight : {0.0, 0.3, 0.9, 0.99, 0.999}) {
      QTest::addRow("%g", weight) << weight << false;
      QTest::addRow("%g, not all finite", weight) << weight << true;
    }
  }
  void followsTheFormula() {
    QFETCH(double, weight);
    QFETCH(bool, odd);
    const auto table = tableOf(1500, odd ? withOddities : noisy);
    SmoothedColumn column(table, 3, weight);
    complete(column);
    QVERIFY(agrees(column, *table, weight));
    appendValues(*table, 33, odd ? withOddities : noisy);
    complete(column);
    QVERIFY(agrees(column, *table, weight));
  }

  void startHasNoBias() {
    const auto table = tableOf(50, [](std::int64_t) { return 7.0; });
    SmoothedColumn column(table, 3, 0.99);
    complete(column);
    for (std::int64_t row = 0; row < 50; ++row) QVERIFY(std::abs(column.values()[row] - 7) < 1e-12);
  }

  void goesOnAfterTruncation_data() {
    QTest::addColumn<qint64>("left");
    QTest::newRow("all but one") << qint64{999};
    QTest::newRow("half") << qint64{500};
    QTest::newRow("where nothing was finite yet") << qint64{2};
    QTest::newRow("nothing") << qint64{0};
  }
  void goesOnAfterTruncation() {
    QFETCH(qint64, left);
    const auto table = tableOf(1000, withOddities);
    SmoothedColumn column(table, 3, 0.98);
    complete(column);
    table->truncateFrom(static_cast<double>(left + 1));
    appendValues(*table, 400, noisy);
    complete(column);
    // To the bit what one that has seen only what is left would have.
    SmoothedColumn fresh(table, 3, 0.98);
    complete(fresh);
    QCOMPARE(column.rows(), table->rows());
    for (std::int64_t row = 0; row < table->rows(); ++row)
      QCOMPARE(std::bit_cast<std::uint64_t>(column.values()[row]), std::bit_cast<std::uint64_t>(fresh.values()[row]));
    QVERIFY(agrees(column, *table, 0.98));
    const Extent own = column.pyramid().extent(column.values(), 0, column.rows());
    const Extent other = fresh.pyramid().extent(fresh.values(), 0, fresh.rows());
    QCOMPARE(own.max, other.max);
    QCOMPARE(own.min, other.min);
  }

  void newWeightComesInSlices() {
    const auto table = tableOf(10'000, noisy);
    SmoothedColumn column(table, 3, 0.5);
    complete(column);
    const double before = column.values()[9'999];
    column.setWeight(0.99);
    QCOMPARE(column.weight(), 0.99);
    int calls = 0;
    for (bool done = false; !done; ++calls) {
      QCOMPARE(column.rows(), 10'000); // the old curve, whole, until the new one is
      QCOMPARE(column.values()[9'999], before);
      std::int64_t rows = 3'000;
      done = column.recomputeSome(rows);
      QVERIFY(rows >= 0);
    }
    QCOMPARE(calls, 4);
    QVERIFY(agrees(column, *table, 0.99));
  }

  void truncationWhileANewWeightComes() {
    const auto table = tableOf(10'000, noisy);
    SmoothedColumn column(table, 3, 0.5);
    complete(column);
    column.setWeight(0.9);
    std::int64_t rows = 6'000;
    QVERIFY(!column.recomputeSome(rows));
    table->truncateFrom(301);
    appendValues(*table, 200, noisy);
    complete(column);
    QVERIFY(agrees(column, *table, 0.9));
  }

  void oldWeightAgain() {
    const auto table = tableOf(1000, noisy);
    SmoothedColumn column(table, 3, 0.5);
    complete(column);
    column.setWeight(0.9);
    column.setWeight(0.5);
    std::int64_t rows = 10'000;
    QVERIFY(column.recomputeSome(rows));
    QCOMPARE(rows, 10'000); // nothing to do
    QVERIFY(agrees(column, *table, 0.5));
  }

  void halfLifeIsWhereAValueCountsHalf() {
    QVERIFY(std::abs(std::pow(0.9, halfLife(0.9)) - 0.5) < 1e-12);
    QCOMPARE(halfLife(0), 0.0);
  }
};

QTEST_GUILESS_MAIN(TestSmoothedColumn)
#include "test_smoothed_column.moc"
