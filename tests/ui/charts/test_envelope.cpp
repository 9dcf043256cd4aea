// Envelopes against going through all rows, and what they cost.
#include "charts/envelope.h"

#include "chart_tables.h"

#include <algorithm>
#include <cassert>
#include <random>

using namespace millrace;
using namespace millrace::ui;

namespace {

Series seriesOfTable(const MetricTable& table, XAxisKind kind) {
  return {table.x(kind), table.column(3), &table.pyramid(3), table.rows()};
}

bool same(double one, double other) {
  return one == other || (std::isnan(one) && std::isnan(other));
}

/// Every row is in the pixel column where its x is, and every pixel column tells of its rows and no others.
QString difference(const Series& series, const Envelope& envelope, double lower, double upper, int pixels) {
  std::vector<Envelope::Column> expected;
  for (std::int64_t row = 0; row < series.rows; ++row) {
    const double x = series.x[row];
    if (x < lower || x > upper) continue;
    const double width = (upper - lower) / pixels;
    int pixel = 0; // the last column that begins at or before x
    while (pixel + 1 < pixels && lower + (pixel + 1) * width <= x) ++pixel;
    if (expected.empty() || expected.back().pixel != pixel) expected.push_back({pixel, series.y[row], 0, {}});
    expected.back().last = series.y[row];
    expected.back().extent.add(series.y[row]);
  }
  if (expected.size() != envelope.columns.size()) return QStringLiteral("other columns");
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Envelope::Column &one = expected[i], &other = envelope.columns[i];
    if (one.pixel != other.pixel || !same(one.first, other.first) || !same(one.last, other.last))
      return QStringLiteral("pixel %1: other rows").arg(one.pixel);
    if (one.extent.min != other.extent.min || one.extent.max != other.extent.max ||
        one.extent.nan != other.extent.nan || one.extent.notPositive != other.extent.notPositive ||
        one.extent.positiveInfinite != other.extent.positiveInfinite ||
        one.extent.negativeInfinite != other.extent.negativeInfinite)
      return QStringLiteral("pixel %1: other values").arg(one.pixel);
  }
  return {};
}

/// Steps with gaps and pauses, values of all kinds.
std::shared_ptr<MetricTable> unevenTable(std::int64_t rows) {
  const QStringList names = {QStringLiteral("step"), QStringLiteral("tokens"), QStringLiteral("time"),
                             QStringLiteral("loss")};
  auto table = std::make_shared<MetricTable>(names);
  std::mt19937 random(3);
  std::uniform_int_distribution<int> any(0, 999);
  std::vector<double> values;
  double step = 0, tokens = 0, time = 1.7e9;
  for (std::int64_t row = 0; row < rows; ++row) {
    const int dice = any(random);
    step += dice == 0 ? 5000 : 1;
    tokens += dice;
    time += dice == 1 ? 86'400 : dice / 1000.0;
    const double value = dice == 2   ? notANumber
                         : dice == 3 ? infinity
                         : dice == 4 ? -infinity
                                     : any(random) / 100.0 - 1;
    values.insert(values.end(), {step, tokens, time, value});
  }
  const auto appended = table->appendRows(values);
  assert(appended);
  return table;
}

} // namespace

class TestEnvelope : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void agreesWithGoingThroughAll_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("from"); // shares of the whole
    QTest::addColumn<double>("to");
    QTest::addColumn<int>("pixels");
    for (const auto& [kind, name] : {std::pair{XAxisKind::Step, "step"}, std::pair{XAxisKind::Tokens, "tokens"},
                                     std::pair{XAxisKind::Time, "time"}}) {
      const int number = static_cast<int>(kind);
      QTest::addRow("%s, all", name) << number << 0.0 << 1.0 << 500;
      QTest::addRow("%s, more than all", name) << number << -0.4 << 1.7 << 333;
      QTest::addRow("%s, the middle", name) << number << 0.31 << 0.63 << 700;
      QTest::addRow("%s, the end", name) << number << 0.8 << 1.01 << 97;
      QTest::addRow("%s, one pixel", name) << number << 0.2 << 0.4 << 1;
    }
  }
  void agreesWithGoingThroughAll() {
    QFETCH(int, kind);
    QFETCH(double, from);
    QFETCH(double, to);
    QFETCH(int, pixels);
    const auto table = unevenTable(20'000);
    const Series series = seriesOfTable(*table, static_cast<XAxisKind>(kind));
    const double first = series.x[0], size = series.x[series.rows - 1] - first;
    const double lower = first + from * size, upper = first + to * size;
    const Envelope envelope = envelopeOf(series, lower, upper, pixels);
    QVERIFY(!envelope.isExact);
    QCOMPARE(difference(series, envelope, lower, upper, pixels), QString());
  }

  void fewRowsAreExact_data() {
    QTest::addColumn<double>("lower");
    QTest::addColumn<double>("upper");
    QTest::addColumn<double>("first");
    QTest::addColumn<double>("last");
    QTest::newRow("within") << 100.0 << 200.0 << 99.0 << 201.0;
    QTest::newRow("at the start") << -10.0 << 3.5 << 1.0 << 4.0;
    QTest::newRow("at the end") << 990.0 << 1e6 << 989.0 << 1000.0;
    QTest::newRow("between two rows") << 10.2 << 10.8 << 10.0 << 11.0;
    QTest::newRow("all") << 0.0 << 1001.0 << 1.0 << 1000.0;
  }
  void fewRowsAreExact() {
    QFETCH(double, lower);
    QFETCH(double, upper);
    QFETCH(double, first);
    QFETCH(double, last);
    const auto table =
        tableOf(1000, [](std::int64_t row) { return row % 7 == 0 ? notANumber : static_cast<double>(row); });
    const Envelope envelope = envelopeOf(seriesOfTable(*table, XAxisKind::Step), lower, upper, 600);
    QVERIFY(envelope.isExact);
    QCOMPARE(envelope.points.size(), static_cast<std::size_t>(last - first + 1));
    for (std::size_t i = 0; i < envelope.points.size(); ++i) {
      const auto step = first + static_cast<double>(i);
      QCOMPARE(envelope.points[i].x, step);
      QVERIFY(same(envelope.points[i].y, table->value(3, static_cast<std::int64_t>(step) - 1)));
    }
  }

  void loneRowsNeverVanish_data() {
    QTest::addColumn<double>("odd");
    QTest::newRow("spike") << 1000.0;
    QTest::newRow("dip") << -1000.0;
    QTest::newRow("nan") << notANumber;
    QTest::newRow("infinity") << infinity;
    QTest::newRow("-infinity") << -infinity;
  }
  void loneRowsNeverVanish() {
    QFETCH(double, odd);
    constexpr std::int64_t rows = 300'000;
    for (const std::int64_t place : {std::int64_t{0}, std::int64_t{77'777}, rows - 1}) {
      const auto table =
          tableOf(rows, [&](std::int64_t row) { return row == place ? odd : 1 + static_cast<double>(row % 5) / 10; });
      const Series series = seriesOfTable(*table, XAxisKind::Step);
      const auto at = static_cast<double>(place + 1);
      for (double span = 2; span < 4 * rows; span *= 3) {
        const double lower = at - span * 0.37;
        int seen = 0;
        const Envelope envelope = envelopeOf(series, lower, lower + span, 811);
        for (const Envelope::Point& point : envelope.points) seen += same(point.y, odd) ? 1 : 0;
        for (const Envelope::Column& column : envelope.columns) {
          const Extent& extent = column.extent;
          const bool here = extent.max == odd || extent.min == odd || extent.notFinite() > 0;
          seen += here ? 1 : 0;
          if (here) QCOMPARE(column.pixel, std::min(810, static_cast<int>((at - lower) / (span / 811))));
        }
        QCOMPARE(seen, 1);
      }
    }
  }

  void costGoesWithPixels() {
    std::int64_t reads[2];
    for (const int million : {0, 1}) {
      const auto table =
          tableOf(million ? 1'000'000 : 100'000, [](std::int64_t row) { return static_cast<double>(row % 11); });
      const Series series = seriesOfTable(*table, XAxisKind::Step);
      const Envelope envelope = envelopeOf(series, 0, static_cast<double>(series.rows), 1000);
      QCOMPARE(envelope.columns.size(), 1000u);
      reads[million] = envelope.reads;
    }
    QVERIFY2(reads[1] < 1000 * 150, qPrintable(QString::number(reads[1])));
    QVERIFY(reads[1] < 2 * reads[0]);
  }

  void nothingToShow() {
    const auto empty = tableOf(0, {});
    QVERIFY(envelopeOf(seriesOfTable(*empty, XAxisKind::Step), 0, 1, 100).points.empty());
    const auto table = tableOf(10, [](std::int64_t) { return 1.0; });
    const Series series = seriesOfTable(*table, XAxisKind::Step);
    QVERIFY(envelopeOf(series, 1, 1, 100).points.empty());
    QVERIFY(envelopeOf(series, 1, 2, 0).points.empty());
    QCOMPARE(envelopeOf(series, 100, 200, 50).points.size(), 1u); // the one that a line would come from
  }

  void extentOfARange() {
    const auto table =
        tableOf(50'000, [](std::int64_t row) { return row == 30'000 ? notANumber : static_cast<double>(row); });
    const Series series = seriesOfTable(*table, XAxisKind::Step);
    const Extent extent = extentOf(series, 10'000.5, 40'000);
    QCOMPARE(extent.min, 10'000.0);
    QCOMPARE(extent.max, 39'999.0);
    QCOMPARE(extent.nan, 1);
    QVERIFY(!extentOf(series, 60'000, 70'000).hasFinite());
  }
};

QTEST_GUILESS_MAIN(TestEnvelope)
#include "test_envelope.moc"
