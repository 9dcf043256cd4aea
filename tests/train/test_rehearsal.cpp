// Rehearsals: what they measure is positive and grows with the work, they keep to their limits, and a step's compute is
// made of theirs by layers, micro-batches and rows.
#include "train/rehearsal.h"

#include "plan/matrix_products.h"
#include "plan/step_time.h"
#include "train/small_models.h"

#include <QTest>

using namespace millrace;
using namespace millrace::test;

namespace {

RunShape shapeOf(std::int64_t rows, std::int64_t context) {
  RunShape shape;
  shape.rows = rows;
  shape.context = context;
  shape.microBatches = 3;
  shape.group = 3;
  shape.headChunk = 64;
  return shape;
}

DeviceOpener onCpu(ThreadPool& pool) {
  return [&pool](Bytes device, Bytes host) -> Result<std::unique_ptr<Device>> {
    return createCpuDevice(pool, device, host);
  };
}

} // namespace

class TestRehearsal : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void measures_data() {
    QTest::addColumn<QString>("family");
    for (const char* family : {"llama", "qwen3", "gpt2", "mistral", "gemma2", "qwen3_moe"})
      QTest::newRow(family) << QString(family);
  }
  void measures() {
    QFETCH(QString, family);
    ThreadPool pool(2);
    const ModelSpec spec = smallModel(family.toStdString(), 5, 128);
    const auto rehearsal = rehearse(onCpu(pool), pool, spec, shapeOf(4, 128), {GiB, 1e12});
    QVERIFY2(rehearsal.has_value(), rehearsal ? "" : rehearsal.error().message.c_str());
    QCOMPARE(rehearsal->rows, 4);
    // Which part of the time is whose may be lost in noise, all of it not.
    QVERIFY(rehearsal->forwardLayer + rehearsal->forwardRest > 0);
    QVERIFY(rehearsal->backwardLayer + rehearsal->backwardRest > 0);
    for (const double part :
         {rehearsal->forwardLayer, rehearsal->forwardRest, rehearsal->backwardLayer, rehearsal->backwardRest})
      QVERIFY(part >= 0);
  }

  void keepsToItsLimits() {
    ThreadPool pool(2);
    const ModelSpec spec = smallModel("llama", 5, 64);
    ModelSpec three = spec;
    three.layers.resize(3);
    RunShape one = shapeOf(2, 64);
    one.microBatches = one.group = 1;
    const double flops = productFlops(stepProducts(three, one));
    const auto fewer = rehearse(onCpu(pool), pool, spec, shapeOf(8, 64), {GiB, flops});
    QVERIFY(fewer.has_value());
    QCOMPARE(fewer->rows, 2); // as many as the operations allow
    const auto none = rehearse(onCpu(pool), pool, spec, shapeOf(8, 64), {GiB, 1000});
    QVERIFY(!none && none.error().kind == ErrorKind::DoesNotFit);
    QVERIFY(!rehearse(onCpu(pool), pool, spec, shapeOf(8, 64), {100'000, 1e12}));
  }

  void scalesToTheStep() {
    const ModelSpec spec = smallModel("llama", 5, 64);
    const Rehearsal rehearsal{2, 1, 5, 7, 2};
    StepWork work;
    work.forward.products = work.backward.products = 1e9;
    work.forward.in = 12;
    const StepWork rehearsed = withRehearsal(work, rehearsal, spec, shapeOf(8, 64));
    QCOMPARE(rehearsed.forward.computeSeconds, 3.0 * 4 * (5 * 2 + 1)); // micro-batches, rows, layers
    QCOMPARE(rehearsed.backward.computeSeconds, 3.0 * 4 * (5 * 5 + 7));
    QCOMPARE(rehearsed.forward.in, 12.0);
    StepRates rates;
    rates.products = 1;
    rates.in = rates.out = rates.both = rates.update = rates.deviceUpdate = 1;
    rates.sharedCores = true;
    const StepTime time = predictStep(rehearsed, rates, false);
    QCOMPARE(time.forward, 3.0 * 4 * 11 + 12);
    QCOMPARE(time.backward, 3.0 * 4 * 32);
  }
};

QTEST_GUILESS_MAIN(TestRehearsal)
#include "test_rehearsal.moc"
