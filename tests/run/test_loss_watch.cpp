#include "run/loss_watch.h"

#include <QtTest>
#include <cmath>

using namespace millrace;

class TestLossWatch : public QObject {
  Q_OBJECT

  /// Falls from 8 to about 3, with noise that never repeats.
  static double loss(int step) {
    return 3 + 5 * std::exp(-step / 60.0) + 0.1 * std::sin(step * 1.7) + 0.05 * std::sin(step * 0.9);
  }

 private Q_SLOTS:
  void quietCurvesAreNoSpikes() {
    LossWatch watch;
    for (int step = 0; step < 5000; ++step) QVERIFY2(!watch.spikeAbove(loss(step)), qPrintable(QString::number(step)));
  }

  void aSpikeIsToldOnceWithWhatWasUsual() {
    LossWatch watch;
    int spikes = 0;
    for (int step = 0; step < 1000; ++step) {
      const bool spike = step >= 500 && step < 520;
      if (const auto usual = watch.spikeAbove(spike ? 9.0 : loss(step))) {
        ++spikes;
        QCOMPARE(step, 500);
        QVERIFY(std::abs(*usual - 3) < 0.2);
      }
    }
    QCOMPARE(spikes, 1);
  }

  void aSecondOneIsToldToo() {
    LossWatch watch;
    QList<int> spikes;
    for (int step = 0; step < 1000; ++step)
      if (watch.spikeAbove(step == 400 || step == 700 ? 9.0 : loss(step))) spikes.append(step);
    QCOMPARE(spikes, (QList<int>{400, 700}));
  }

  void theFirstStepsAreLearnt() {
    LossWatch watch;
    for (int step = 0; step < 40; ++step) QVERIFY(!watch.spikeAbove(step % 2 ? 11 : 5));
  }

  /// A loss that stays where it jumped to is usual after a while.
  void aPlateauIsLearnt() {
    LossWatch watch;
    for (int step = 0; step < 400; ++step) (void)watch.spikeAbove(loss(step));
    QVERIFY(watch.spikeAbove(6));
    for (int step = 0; step < 300; ++step) (void)watch.spikeAbove(6 + 0.1 * std::sin(step));
    for (int step = 0; step < 300; ++step) QVERIFY(!watch.spikeAbove(6 + 0.1 * std::sin(step)));
  }

  /// A loss near zero that moves by nothing is not alarming.
  void aFlatCurveMayMove() {
    LossWatch watch;
    for (int step = 0; step < 300; ++step) (void)watch.spikeAbove(0.5);
    QVERIFY(!watch.spikeAbove(0.53));
    QVERIFY(watch.spikeAbove(0.6));
  }
};

QTEST_GUILESS_MAIN(TestLossWatch)
#include "test_loss_watch.moc"
