// What the clock of steps counts, and what it leaves out.
#include "run/step_clock.h"

#include <QTest>

using namespace millrace;

class TestStepClock : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void runsFromStepToStep() {
    pass(3);
    QCOMPARE(m_clock.take(), 3.0);
    pass(4);
    QCOMPARE(m_clock.take(), 4.0);
    QCOMPARE(m_clock.take(), 0.0);
  }

  void standsStillWhileStopped() {
    pass(1);
    {
      const StepClock::Stop evaluation(m_clock);
      pass(100);
    }
    pass(2);
    {
      const StepClock::Stop saving(m_clock);
      pass(100);
    }
    pass(3);
    QVERIFY(m_clock.running());
    QCOMPARE(m_clock.take(), 6.0);
    pass(5);
    QCOMPARE(m_clock.take(), 5.0);
  }

  void stopsMayBeNested() {
    {
      const StepClock::Stop saving(m_clock);
      pass(10);
      {
        const StepClock::Stop fullDisk(m_clock);
        pass(100);
      }
      pass(10);
    }
    pass(1);
    QCOMPARE(m_clock.take(), 1.0);
  }

 private:
  void pass(int seconds) { m_now += std::chrono::seconds(seconds); }

  StepClock::TimePoint m_now;
  StepClock m_clock{[this] { return m_now; }};
};

QTEST_GUILESS_MAIN(TestStepClock)
#include "test_step_clock.moc"
