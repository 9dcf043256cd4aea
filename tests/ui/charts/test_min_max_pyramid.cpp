// The pyramid against going through all rows.
#include "charts/min_max_pyramid.h"

#include <QTest>
#include <random>

using namespace millrace;
using namespace millrace::ui;

namespace {

Extent byHand(const ColumnFile& file, std::int64_t begin, std::int64_t end) {
  Extent extent;
  for (std::int64_t row = begin; row < end; ++row) {
    const double value = file.value(0, row);
    if (std::isnan(value))
      ++extent.nan;
    else if (value > 1e200) // beyond what axes can show
      ++extent.positiveInfinite;
    else if (value < -1e200)
      ++extent.negativeInfinite;
    else {
      if (value < extent.min) extent.min = value;
      if (value > extent.max) extent.max = value;
      if (value <= 0) ++extent.notPositive;
      if (value > 0 && value < extent.minPositive) extent.minPositive = value;
    }
  }
  return extent;
}

bool equal(const Extent& one, const Extent& other) {
  return one.min == other.min && one.max == other.max && one.minPositive == other.minPositive && one.nan == other.nan &&
         one.positiveInfinite == other.positiveInfinite && one.negativeInfinite == other.negativeInfinite &&
         one.notPositive == other.notPositive;
}

enum class Kind { Ordinary, Positive, NotFinite, OnlyNan };

class Column {
 public:
  Column() : m_random(7) {}

  void append(std::int64_t rows, Kind kind) {
    std::uniform_real_distribution<double> value(kind == Kind::Positive ? 0.5 : -2, 3);
    std::uniform_int_distribution<int> oddity(0, kind == Kind::NotFinite ? 300 : 1'000'000'000);
    std::vector<double> values;
    for (std::int64_t row = 0; row < rows; ++row) {
      const int odd = oddity(m_random);
      values.push_back(kind == Kind::OnlyNan || odd == 1 ? std::nan("")
                       : odd == 2                        ? std::numeric_limits<double>::infinity()
                       : odd == 3                        ? -std::numeric_limits<double>::infinity()
                       : odd == 4                        ? 1e300
                       : odd == 5                        ? -1e308
                                                         : value(m_random));
    }
    QVERIFY(file.append(values).has_value());
    pyramid.extend(view(), file.rows());
  }
  void truncate(std::int64_t rows) {
    file.truncate(rows);
    pyramid.truncate(rows);
  }
  ColumnView view() const { return {file, 0}; }

  bool agrees(int tries) {
    std::uniform_int_distribution<std::int64_t> row(0, file.rows());
    for (int i = 0; i < tries; ++i) {
      std::int64_t begin = row(m_random), end = row(m_random);
      if (i % 4 == 0) end = std::min(file.rows(), begin + 1 + i % 40);
      if (begin > end) std::swap(begin, end);
      if (!equal(pyramid.extent(view(), begin, end), byHand(file, begin, end))) return false;
    }
    return equal(pyramid.extent(view(), 0, file.rows()), byHand(file, 0, file.rows()));
  }

  ColumnFile file{1};
  MinMaxPyramid pyramid;

 private:
  std::mt19937 m_random;
};

} // namespace

Q_DECLARE_METATYPE(Kind)

class TestMinMaxPyramid : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void agreesWithGoingThroughAll_data() {
    QTest::addColumn<Kind>("first");
    QTest::addColumn<Kind>("then");
    QTest::newRow("ordinary") << Kind::Ordinary << Kind::Ordinary;
    QTest::newRow("positive") << Kind::Positive << Kind::Positive;
    QTest::newRow("positive, then any") << Kind::Positive << Kind::Ordinary;
    QTest::newRow("positive, then not finite") << Kind::Positive << Kind::NotFinite;
    QTest::newRow("not finite, then positive") << Kind::NotFinite << Kind::Positive;
    QTest::newRow("never a number") << Kind::OnlyNan << Kind::OnlyNan;
    QTest::newRow("numbers, then none") << Kind::Positive << Kind::OnlyNan;
  }
  void agreesWithGoingThroughAll() {
    QFETCH(Kind, first);
    QFETCH(Kind, then);
    Column column;
    for (const std::int64_t rows : {1, 30, 1, 1, 255, 7, 1753, 2048}) {
      column.append(rows, first);
      QVERIFY(column.agrees(100));
    }
    for (const std::int64_t rows : {1, 9000, 13, 4000}) {
      column.append(rows, then);
      QVERIFY(column.agrees(200));
    }
    for (const std::int64_t left : {17'000, 16'384, 8'192, 8'191, 2'049, 33, 32, 31, 1, 0}) {
      if (left >= column.file.rows()) continue;
      column.truncate(left);
      QVERIFY(column.agrees(100));
      column.append(100, then);
      QVERIFY(column.agrees(100));
      column.truncate(left);
    }
  }

  void costsLittle() {
    Column column;
    column.append(1'000'000, Kind::Ordinary);
    std::int64_t most = 0;
    for (std::int64_t begin = 0; begin < 500'000; begin += 7919)
      most = std::max(most, column.pyramid.extent(column.view(), begin, 1'000'000 - begin / 2).reads);
    // Both ends: a block of rows, and a block of blocks on each of five levels.
    QVERIFY2(most <= 2 * (32 + 5 * 8), qPrintable(QString::number(most)));
    QVERIFY(most > 32);
  }

  void rareCountsCostMemoryOnlyWhereThereAreAny() {
    Column plain, odd;
    plain.append(100'000, Kind::Positive);
    odd.append(100'000, Kind::NotFinite);
    QVERIFY(plain.pyramid.memoryBytes() > 0);
    QVERIFY(plain.pyramid.memoryBytes() * 2 < odd.pyramid.memoryBytes());
  }
};

QTEST_GUILESS_MAIN(TestMinMaxPyramid)
#include "test_min_max_pyramid.moc"
