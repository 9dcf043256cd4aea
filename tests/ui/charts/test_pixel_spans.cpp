// Lines as spans and polylines: what is painted for them.
#include "charts/line_runs.h"
#include "charts/pixel_spans.h"

#include <QTest>
#include <random>
#include <set>

using namespace millrace::ui;

namespace {

constexpr int left = 100;
constexpr int columns = 64;

using Pixels = std::set<std::pair<int, int>>;

Pixels painted(const PixelSpans& spans, int width = 1, const QList<double>& dashes = {}) {
  Pixels pixels;
  for (const QRect& rect : spans.rects(width, dashes))
    for (int x = rect.left(); x <= rect.right(); ++x)
      for (int y = rect.top(); y <= rect.bottom(); ++y) pixels.insert({x - left, y});
  return pixels;
}

} // namespace

class TestPixelSpans : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void coversWhatItIsTold() {
    std::mt19937 random(1);
    std::uniform_int_distribution<int> y(10, 90), any(0, 9);
    for (int round = 0; round < 50; ++round) {
      PixelSpans spans(left, columns, 0, 100);
      Pixels expected;
      for (int column = 0; column < columns; ++column) {
        if (any(random) == 0) continue;
        int top = y(random) / 3, bottom = y(random);
        if (top > bottom) std::swap(top, bottom);
        spans.cover(column, bottom, top);
        for (int row = top; row <= bottom; ++row) expected.insert({column, row});
      }
      QCOMPARE(painted(spans), expected);
    }
  }

  void widens() {
    PixelSpans spans(left, columns, 0, 100);
    spans.cover(10, 20, 60);
    const Pixels pixels = painted(spans, 3);
    QVERIFY(pixels.contains({9, 40}) && pixels.contains({10, 40}) && pixels.contains({11, 40}));
    QVERIFY(pixels.contains({10, 19}) && pixels.contains({10, 61}));
    QVERIFY(!pixels.contains({8, 40}) && !pixels.contains({12, 40}));
  }

  void cutsToTheArea() {
    PixelSpans spans(left, columns, 0, 100);
    spans.cover(3, -1e12, 1e12);
    spans.cover(4, -50, -10);
    spans.cover(-1, 10, 20);
    spans.cover(columns, 10, 20);
    const Pixels pixels = painted(spans);
    QCOMPARE(pixels.size(), 101u);
    QVERIFY(pixels.contains({3, 0}) && pixels.contains({3, 100}));
  }

  void joins_data() {
    QTest::addColumn<QPointF>("from");
    QTest::addColumn<QPointF>("to");
    QTest::newRow("flat") << QPointF(3.5, 40) << QPointF(30.2, 40);
    QTest::newRow("falling") << QPointF(0, 10) << QPointF(60, 95);
    QTest::newRow("steep") << QPointF(20.1, 90) << QPointF(22.9, 5);
    QTest::newRow("in one column") << QPointF(20.1, 90) << QPointF(20.9, 5);
    QTest::newRow("from far left") << QPointF(-1e6, 50) << QPointF(1e6, 50);
    QTest::newRow("through the area") << QPointF(-64, 0) << QPointF(128, 96);
  }
  void joins() {
    QFETCH(QPointF, from);
    QFETCH(QPointF, to);
    PixelSpans spans(left, columns, 0, 100);
    spans.join(from.x(), from.y(), to.x(), to.y());
    const Pixels pixels = painted(spans);
    // Every place on the line is painted, and nothing that is further than a pixel from it.
    for (int i = 0; i <= 1000; ++i) {
      const double x =
          std::max(0.0, from.x()) + (std::min(columns - 0.001, to.x()) - std::max(0.0, from.x())) * i / 1000;
      const double y = from.y() + (to.y() - from.y()) * (x - from.x()) / (to.x() - from.x());
      QVERIFY(pixels.contains({static_cast<int>(x), static_cast<int>(std::lround(y))}));
    }
    for (const auto& [column, row] : pixels) {
      const auto at = [&](double x) {
        const double inside = std::clamp(x, from.x(), to.x());
        return from.y() + (to.y() - from.y()) * (inside - from.x()) / (to.x() - from.x());
      };
      const double one = at(column), other = at(column + 1);
      QVERIFY(row >= std::min(one, other) - 1 && row <= std::max(one, other) + 1);
    }
  }

  void dashesLeaveOutNoSpike() {
    PixelSpans spans(left, columns, 0, 100);
    for (int column = 0; column < columns; ++column) spans.cover(column, 50, 50);
    spans.cover(7, 50, 10); // in a gap of the pattern
    const Pixels pixels = painted(spans, 1, {4, 6});
    QVERIFY(pixels.contains({2, 50}));
    QVERIFY(!pixels.contains({6, 50}));
    QVERIFY(pixels.contains({7, 10}));
    QVERIFY(pixels.contains({12, 50}));
  }

  void runsAreJoinedAndInterrupted() {
    LineRuns runs(QRectF(0, 0, 100, 100));
    for (const QPointF& point : {QPointF(0, 0), QPointF(10, 10), QPointF(20, 0)}) runs.add(point);
    runs.interrupt();
    runs.add({30, 30});
    runs.interrupt();
    for (const QPointF& point : {QPointF(40, 40), QPointF(50, 50)}) runs.add(point);
    runs.interrupt();
    QCOMPARE(runs.lines().size(), 2);
    QCOMPARE(runs.lines()[0], (QPolygonF{{0, 0}, {10, 10}, {20, 0}}));
    QCOMPARE(runs.lonePoints(), (QList<QPointF>{{30, 30}}));
  }

  void runsAreCutNearTheArea() {
    LineRuns runs(QRectF(0, 0, 100, 100));
    for (const QPointF& point :
         {QPointF(-1e9, 50), QPointF(50, 50), QPointF(50, 1e12), QPointF(60, 1e12), QPointF(70, 50)})
      runs.add(point);
    runs.interrupt();
    QCOMPARE(runs.lines().size(), 2);
    for (const QPolygonF& line : runs.lines())
      for (const QPointF& point : line) QVERIFY(QRectF(-101, -101, 302, 302).contains(point));
    QCOMPARE(runs.lines()[0][1], QPointF(50, 50));
    QCOMPARE(runs.lines()[1].last(), QPointF(70, 50));
    QVERIFY(std::abs(runs.lines()[0][0].y() - 50) < 1e-6);
  }
};

QTEST_GUILESS_MAIN(TestPixelSpans)
#include "test_pixel_spans.moc"
