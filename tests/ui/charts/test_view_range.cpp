// What part of an axis is shown, and how often.
#include "charts/repaint_pace.h"
#include "charts/view_range.h"

#include <QTest>
#include <cmath>

using namespace millrace::ui;

namespace {

bool near(Range one, Range other) {
  const double tolerance = 1e-9 * (1 + std::abs(other.lower) + std::abs(other.upper));
  return std::abs(one.lower - other.lower) < tolerance && std::abs(one.upper - other.upper) < tolerance;
}

} // namespace

class TestViewRange : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void zoomsAroundAPoint() {
    QVERIFY(near(zoomed({0, 10}, 0.5, 2), {1, 6}));
    QVERIFY(near(zoomed({0, 10}, 2, 5), {-5, 15}));
    QVERIFY(near(zoomed({1, 10'000}, 0.5, 100, true), {10, 1000}));
  }

  void pans() {
    QVERIFY(near(panned({10, 20}, 0.2), {12, 22}));
    QVERIFY(near(panned({1, 100}, 0.5, true), {10, 1000}));
  }

  void padsEvenASingleValue() {
    QVERIFY(near(padded({0, 10}, 0.05), {-0.5, 10.5}));
    QVERIFY(padded({5, 5}, 0.05).size() > 0.1);
    QVERIFY(near(padded({0, 0}, 0.05), {-0.5, 0.5}));
    const Range logarithmic = padded({1, 100}, 0.05, true);
    QVERIFY(logarithmic.lower > 0.5 && logarithmic.lower < 1 && logarithmic.upper > 100);
    QVERIFY(padded({3, 3}, 0.05, true).size() > 0);
  }

  void followsUntilShown() {
    ViewRange view;
    view.setExtent({0, 100}, 2);
    QVERIFY(view.isFollowing());
    QCOMPARE(view.view(), (Range{0, 100}));
    view.setExtent({0, 200}, 2);
    QCOMPARE(view.view(), (Range{0, 200}));
    view.show({50, 60});
    QVERIFY(!view.isFollowing());
    view.setExtent({0, 400}, 2);
    QCOMPARE(view.view(), (Range{50, 60}));
    view.fit();
    QVERIFY(view.isFollowing());
    QCOMPARE(view.view(), (Range{0, 400}));
  }

  void staysInTheExtent_data() {
    QTest::addColumn<double>("lower");
    QTest::addColumn<double>("upper");
    QTest::addColumn<double>("shownLower");
    QTest::addColumn<double>("shownUpper");
    QTest::addColumn<bool>("follows");
    QTest::newRow("inside") << 10.0 << 20.0 << 10.0 << 20.0 << false;
    QTest::newRow("over the left end") << -5.0 << 5.0 << 0.0 << 10.0 << false;
    QTest::newRow("over the right end") << 95.0 << 115.0 << 80.0 << 100.0 << false;
    QTest::newRow("too small") << 50.0 << 50.0 << 49.0 << 51.0 << false;
    QTest::newRow("more than there is") << -10.0 << 110.0 << 0.0 << 100.0 << true;
    QTest::newRow("not a number") << std::nan("") << 110.0 << 0.0 << 100.0 << true;
  }
  void staysInTheExtent() {
    QFETCH(double, lower);
    QFETCH(double, upper);
    QFETCH(double, shownLower);
    QFETCH(double, shownUpper);
    QFETCH(bool, follows);
    ViewRange view;
    view.setExtent({0, 100}, 2);
    view.show({lower, upper});
    QCOMPARE(view.view(), (Range{shownLower, shownUpper}));
    QCOMPARE(view.isFollowing(), follows);
  }

  void unites() {
    QCOMPARE(united(Range{1, 5}, Range{3, 9}), std::optional(Range{1, 9}));
    QCOMPARE(united(std::nullopt, Range{3, 9}), std::optional(Range{3, 9}));
    QVERIFY(!united(std::nullopt, std::nullopt));
  }

  void paceOfQuickFrames() {
    RepaintPace pace;
    QCOMPARE(pace.delay(5), 0.0); // the first at once
    pace.painted(5, 5.004);
    QVERIFY(std::abs(pace.delay(5.004) - (RepaintPace::fastest - 0.004)) < 1e-9);
    QCOMPARE(pace.delay(6), 0.0);
  }

  void paceOfLongFrames() {
    RepaintPace pace;
    pace.painted(0, 0.03);
    QVERIFY(std::abs(pace.interval() - 0.045) < 1e-9); // some time is left for others
    pace.setCompanions(4);
    QVERIFY(std::abs(pace.interval() - 0.18) < 1e-9);
  }

  void paceOverSlowConnections() {
    RepaintPace pace;
    double now = 0;
    const auto paint = [&](double seconds, int times) {
      for (int i = 0; i < times; ++i, now += 1) pace.painted(now, now + seconds);
    };
    paint(0.01, 3);
    QCOMPARE(pace.interval(), RepaintPace::fastest);
    paint(0.3, 1);
    QVERIFY(pace.interval() < RepaintPace::slowest); // one slow frame is none
    paint(0.3, 20);
    QCOMPARE(pace.interval(), 0.5);
    QCOMPARE(pace.delay(now - 1 + 0.3), 0.2);
    paint(0.08, 20); // not clearly faster
    QCOMPARE(pace.interval(), 0.5);
    paint(0.005, 20);
    QCOMPARE(pace.interval(), RepaintPace::fastest);
  }
};

QTEST_GUILESS_MAIN(TestViewRange)
#include "test_view_range.moc"
