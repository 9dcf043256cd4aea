// Rounds are as many as asked for, and as time allows.
#include "probe/rounds.h"

#include <QtTest>

using namespace millrace;

class TestRounds : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void rounds_data() {
    QTest::addColumn<int>("least");
    QTest::addColumn<int>("most");
    QTest::addColumn<double>("seconds");
    QTest::addColumn<double>("warmUp");
    QTest::addColumn<double>("round");
    QTest::addColumn<int>("expected");
    QTest::newRow("a number alone") << 4 << 4 << 0.0 << 9.0 << 1.0 << 4;
    QTest::newRow("time for the least only") << 3 << 100 << 2.0 << 9.0 << 5.0 << 3;
    QTest::newRow("time for some") << 3 << 100 << 2.0 << 9.0 << 0.25 << 8;
    QTest::newRow("time for more than the most") << 3 << 10 << 2.0 << 9.0 << 0.125 << 10;
    QTest::newRow("the last begins within the time") << 1 << 100 << 2.0 << 0.0 << 1.5 << 2;
  }
  void rounds() {
    QFETCH(int, least);
    QFETCH(int, most);
    QFETCH(double, seconds);
    QFETCH(double, warmUp);
    QFETCH(double, round);
    double now = 1000;
    RoundLoop loop(Rounds(least, most, seconds), [&] { return now; });
    int warm = 0, done = 0;
    while (loop.next()) {
      const double taken = loop.secondsOf([&] { now += loop.warmUp() ? warmUp : round; });
      QCOMPARE(taken, loop.warmUp() ? warmUp : round);
      ++(loop.warmUp() ? warm : done);
    }
    QCOMPARE(warm, 1);
    QTEST(done, "expected");
  }

  void medians() {
    QCOMPARE(median({3}), 3.0);
    QCOMPARE(median({9, 1, 5}), 5.0);
    QCOMPARE(median({1, 1, 1, 100, 1}), 1.0);
  }

  void steadyClockGoesOn() {
    const ProbeClock clock = steadyProbeClock();
    const double before = clock();
    QVERIFY(clock() >= before);
  }
};

QTEST_GUILESS_MAIN(TestRounds)
#include "test_rounds.moc"
