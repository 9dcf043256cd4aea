// The numbers of AdamW, clipping and learning-rate schedules.
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/lr_schedule.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <vector>

using namespace millrace;

class TestOptim : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void scalars_data() {
    QTest::addColumn<qint64>("step");
    for (const qint64 step : {1, 2, 10, 1000, 10000000}) QTest::addRow("step %lld", step) << step;
  }
  void scalars() {
    QFETCH(qint64, step);
    const AdamWHyperparameters h{0.9, 0.95, 1e-8, 0.1};
    const double lr = 0.01;
    const AdamWScalars s = adamWScalars(h, lr, step, 0.25);
    QCOMPARE(s.beta1, 0.9f);
    // Rounded once from double: 1 - 0.9f would be another number.
    QCOMPARE(s.oneMinusBeta1, static_cast<float>(1.0 - 0.9));
    QCOMPARE(s.oneMinusBeta2, static_cast<float>(1.0 - 0.95));
    QCOMPARE(s.epsilon, 1e-8f);
    QCOMPARE(s.decayFactor, static_cast<float>(1.0 - 0.01 * 0.1));
    QCOMPARE(s.gradientScale, 0.25f);
    // The bias corrections by products, not powers.
    double power1 = 1, power2 = 1;
    for (qint64 i = 0; i < std::min<qint64>(step, 100000); ++i) {
      power1 *= 0.9;
      power2 *= 0.95;
    }
    QVERIFY(std::abs(static_cast<double>(s.stepSize) - lr / (1 - power1)) <= 1e-7 * lr / (1 - power1));
    QVERIFY(std::abs(static_cast<double>(s.inverseSqrtBias2) - 1 / std::sqrt(1 - power2)) <=
            2e-7 / std::sqrt(1 - power2));
  }

  void clip_data() {
    QTest::addColumn<double>("norm");
    QTest::addColumn<double>("maxNorm");
    QTest::addColumn<double>("factor");
    QTest::addColumn<bool>("finite");
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    QTest::newRow("below") << 0.5 << 1.0 << 1.0 << true;
    QTest::newRow("above") << 4.0 << 1.0 << 1.0 / (4.0 + 1e-6) << true;
    QTest::newRow("just at the limit") << 1.0 << 1.0 << 1.0 / (1.0 + 1e-6) << true;
    QTest::newRow("zero norm") << 0.0 << 1.0 << 1.0 << true;
    QTest::newRow("off") << 1e9 << 0.0 << 1.0 << true;
    QTest::newRow("infinite") << infinity << 1.0 << 1.0 << false;
    QTest::newRow("not a number") << nan << 1.0 << 1.0 << false;
    QTest::newRow("not a number, off") << nan << 0.0 << 1.0 << false;
  }
  void clip() {
    QFETCH(double, norm);
    QFETCH(double, maxNorm);
    QFETCH(double, factor);
    QFETCH(bool, finite);
    const ClipDecision decision = clipDecision(norm, maxNorm);
    QCOMPARE(decision.factor, factor);
    QCOMPARE(decision.finite, finite);
    QVERIFY(decision.norm == norm || std::isnan(norm));
  }

  void norms() {
    QCOMPARE(gradientNorm(std::vector<double>{}), 0.0);
    QCOMPARE(gradientNorm(std::vector<double>{9, 16}), 5.0);
    // Added in the order given: a thousand ones are lost one by one behind 2^53, and kept in front of it.
    const double big = 9007199254740992.0;
    std::vector<double> sums(1001, 1.0);
    sums.front() = big;
    QVERIFY(gradientNorm(sums) == std::sqrt(big));
    std::swap(sums.front(), sums.back());
    QVERIFY(gradientNorm(sums) == std::sqrt(big + 1000));
    QVERIFY(std::sqrt(big + 1000) != std::sqrt(big));
    QVERIFY(!clipDecision(gradientNorm(std::vector<double>{1, std::nan(""), 2}), 1).finite);
    QVERIFY(!clipDecision(gradientNorm(std::vector<double>{1, std::numeric_limits<double>::infinity()}), 1).finite);
  }

  /// The six steps of the golden runs: warm-up 2, peak 0.01, cosine to a tenth.
  void goldenRates() {
    const LrSchedule schedule{LrScheduleKind::Cosine, 0.01, 2, 0, 0.1};
    const double expected[] = {0.005, 0.01, 0.008681980515339464, 0.0055000000000000005, 0.0023180194846605367, 0.001};
    for (int step = 1; step <= 6; ++step) {
      const double rate = learningRate(schedule, step, 6);
      QVERIFY2(std::abs(rate - expected[step - 1]) <= 1e-15,
               qPrintable(QString("step %1: %2").arg(step).arg(rate, 0, 'g', 17)));
    }
  }

  void schedules_data() {
    QTest::addColumn<int>("kind");
    QTest::addColumn<qint64>("warmup");
    QTest::addColumn<qint64>("decay");
    QTest::addColumn<qint64>("total");
    QTest::addColumn<qint64>("step");
    QTest::addColumn<double>("rate");
    const auto row = [](const char* name, LrScheduleKind kind, qint64 warmup, qint64 decay, qint64 total, qint64 step,
                        double rate) {
      QTest::newRow(name) << static_cast<int>(kind) << warmup << decay << total << step << rate;
    };
    using enum LrScheduleKind;
    row("constant, warming", Constant, 4, 0, 100, 1, 0.5);
    row("constant, warm", Constant, 4, 0, 100, 4, 2.0);
    row("constant, last", Constant, 4, 0, 100, 100, 2.0);
    row("linear, peak", Linear, 10, 0, 110, 10, 2.0);
    row("linear, half way", Linear, 10, 0, 110, 60, 1.25);
    row("linear, last", Linear, 10, 0, 110, 110, 0.5);
    row("linear, past the end", Linear, 10, 0, 110, 500, 0.5);
    row("cosine, no warm-up, first", Cosine, 0, 0, 11, 1, 2.0);
    row("cosine, warm-up 1, first", Cosine, 1, 0, 11, 1, 2.0);
    row("cosine, half way", Cosine, 1, 0, 11, 6, 1.25);
    row("cosine, last", Cosine, 1, 0, 11, 11, 0.5);
    row("cosine, one step", Cosine, 0, 0, 1, 1, 2.0);
    row("cosine, all warm-up", Cosine, 10, 0, 10, 10, 2.0);
    row("cosine, warm-up longer than the run", Cosine, 20, 0, 10, 10, 1.0);
    row("wsd, warming", Wsd, 5, 20, 100, 2, 0.8);
    row("wsd, stable", Wsd, 5, 20, 100, 50, 2.0);
    row("wsd, last stable", Wsd, 5, 20, 100, 80, 2.0);
    row("wsd, decaying", Wsd, 5, 20, 100, 90, 1.25);
    row("wsd, last", Wsd, 5, 20, 100, 100, 0.5);
    row("wsd, decay longer than what follows warm-up", Wsd, 50, 90, 100, 75, 1.25);
  }
  void schedules() {
    QFETCH(int, kind);
    QFETCH(qint64, warmup);
    QFETCH(qint64, decay);
    QFETCH(qint64, total);
    QFETCH(qint64, step);
    QFETCH(double, rate);
    const LrSchedule schedule{static_cast<LrScheduleKind>(kind), 2.0, warmup, decay, 0.25};
    QVERIFY2(std::abs(learningRate(schedule, step, total) - rate) < 1e-12,
             qPrintable(QString::number(learningRate(schedule, step, total))));
  }

  void names() {
    using enum LrScheduleKind;
    for (const LrScheduleKind kind : {Constant, Linear, Cosine, Wsd})
      QVERIFY(lrScheduleKindFrom(toString(kind)) == kind);
    QVERIFY(!lrScheduleKindFrom("Cosine").has_value());
  }
};

QTEST_GUILESS_MAIN(TestOptim)
#include "test_optim.moc"
