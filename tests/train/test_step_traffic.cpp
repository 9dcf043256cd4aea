// What a step is predicted to send over the bus against what the engine's own counters say it sent.
#include "plan/step_work.h"
#include "train/small_models.h"
#include "train/training_world.h"

#include <QTest>
#include <cmath>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr std::int64_t layers = 6;
constexpr std::int64_t rows = 2;
constexpr std::int64_t context = 64;
constexpr std::int64_t vocabulary = 97;

/// Every row of the vocabulary occurs in every micro-batch, and every position.
MicroBatch fullBatch(std::uint64_t seed) {
  MicroBatch batch = randomBatch(vocabulary, rows, context, 0.7, seed);
  for (std::size_t t = 0; t < batch.tokens.size(); ++t) {
    batch.tokens[t] = static_cast<std::int32_t>((t * 31 + seed) % vocabulary);
    batch.positions[t] = static_cast<std::int32_t>(t % context);
    batch.documentStart[t] = 0;
  }
  return batch;
}

struct Sent {
  double in = 0, out = 0;
  double read = 0, written = 0; ///< of the disk
};

/// By each of two steps after the first, which begins with empty slots; they must not differ.
Sent measure(const ModelSpec& spec, const Setting& setting, QString* problem) {
  World world(spec, setting);
  std::vector<MicroBatch> batches;
  for (std::int64_t m = 0; m < setting.shape.microBatches; ++m)
    batches.push_back(fullBatch(static_cast<std::uint64_t>(m) + 1));
  std::vector<Sent> sent;
  Sent before;
  for (int step = 0; step < 3; ++step) {
    const auto outcome = world.trainer().step({batches, batches, 0.01});
    if (!outcome || outcome->discarded) *problem = "a step failed";
    world.trainer().applyPending();
    world.streams().synchronize();
    const BusUse bus = world.trainer().busUse();
    Sent now{static_cast<double>(bus.in), static_cast<double>(bus.out), 0, 0};
    if (world.disk()) {
      now.read = static_cast<double>(world.disk()->use().read.bytes);
      now.written = static_cast<double>(world.disk()->use().write.bytes);
    }
    sent.push_back({now.in - before.in, now.out - before.out, now.read - before.read, now.written - before.written});
    before = now;
  }
  if (sent[1].in != sent[2].in || sent[1].out != sent[2].out) *problem = "two steps sent different amounts";
  return sent[2];
}

/// The prediction, with embedding rows as these batches use them and not as random ones would.
Sent predict(const ModelSpec& spec, const Setting& setting) {
  const MemoryPlan plan = World::layOut(spec, setting);
  const MemoryLayout layout(spec, setting.shape);
  const StepWork work = StepCount(layout).work(plan.homes);
  const double guessed = vocabulary * (1 - std::exp(-static_cast<double>(rows * context) / vocabulary));
  const bool gathered = tablesHome(plan.homes.back()) == UnitHome::Host;
  const double missing =
      gathered ? (vocabulary - guessed) * static_cast<double>(spec.hidden * setting.shape.microBatches) : 0;
  return {work.forward.in + work.backward.in + missing * static_cast<double>(setting.shape.weightBytes()),
          work.forward.out + work.backward.out + missing * 4, work.forward.diskRead + work.backward.diskRead,
          work.diskWrites()};
}

Setting baseSetting() {
  Setting setting;
  setting.shape.rows = rows;
  setting.shape.context = context;
  setting.shape.microBatches = 4;
  setting.shape.group = 4;
  setting.shape.headChunk = 50;
  return setting;
}

void addModes() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("precision");
  QTest::addColumn<int>("clip");
  const auto row = [](const char* family, Precision precision, ClipMode clip) {
    QTest::newRow(fmt::format("{} {} clip {}", family, toString(precision), toString(clip)).c_str())
        << QString(family) << static_cast<int>(precision) << static_cast<int>(clip);
  };
  row("llama", Precision::Fp32, ClipMode::Exact);
  row("llama", Precision::Bf16, ClipMode::ExactBf16);
  row("llama", Precision::Bf16, ClipMode::Off);
  row("gpt2", Precision::Bf16, ClipMode::Exact);
  row("gpt2", Precision::Fp32, ClipMode::ExactBf16);
  row("gemma2", Precision::Bf16, ClipMode::Exact);
  row("qwen3_moe", Precision::Fp32, ClipMode::Exact);
}

} // namespace

class TestStepTraffic : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void weightsAndGradients_data() { addModes(); }
  void weightsAndGradients();
  void disk_data() { addModes(); }
  void disk();
  void offloaded_data();
  void offloaded();
};

/// To the byte.
void TestStepTraffic::weightsAndGradients() {
  QFETCH(QString, family);
  QFETCH(int, precision);
  QFETCH(int, clip);
  const ModelSpec spec = smallModel(family.toStdString(), layers, 32);
  Random random(5, "homes of " + family.toStdString());
  for (int i = 0; i < 16; ++i) {
    Setting setting = baseSetting();
    setting.shape.precision = static_cast<Precision>(precision);
    setting.shape.clip = static_cast<ClipMode>(clip);
    setting.shape.group = 1 + i % 4;
    setting.shape.slots = 2 + i / 4 % 2;
    setting.shape.recompute = static_cast<Recompute>(i % 3);
    setting.homes.assign(layers + 1, UnitHome::Host);
    if (i >= 8) // else everything streams
      for (UnitHome& home : setting.homes) {
        const UnitHome homes[] = {UnitHome::Host, UnitHome::Host, UnitHome::WeightsOnDevice, UnitHome::Device};
        home = homes[random.below(4)];
      }
    QString problem;
    const Sent sent = measure(spec, setting, &problem);
    QVERIFY2(problem.isEmpty(), qPrintable(problem));
    const Sent predicted = predict(spec, setting);
    std::string homes;
    for (const UnitHome home : setting.homes) homes += fmt::format(" {}", toString(home));
    QVERIFY2(std::abs(sent.in - predicted.in) < 1 && std::abs(sent.out - predicted.out) < 1,
             fmt::format("group {}, {} slots,{}: in {}, predicted {}; out {}, predicted {}", setting.shape.group,
                         setting.shape.slots, homes, sent.in, predicted.in, sent.out, predicted.out)
                 .c_str());
  }
}

/// Over the bus to the byte. The disk moves whole pages, and has not to read again the layers that are still in slots
/// where a pass ends; the prediction counts without that.
void TestStepTraffic::disk() {
  QFETCH(QString, family);
  QFETCH(int, precision);
  QFETCH(int, clip);
  const ModelSpec spec = smallModel(family.toStdString(), layers, 64);
  Random random(5, "homes on disk of " + family.toStdString());
  for (int i = 0; i < 8; ++i) {
    Setting setting = baseSetting();
    setting.shape.precision = static_cast<Precision>(precision);
    setting.shape.clip = static_cast<ClipMode>(clip);
    setting.shape.group = 1 + i % 4;
    setting.homes.assign(layers + 1, UnitHome::Disk);
    if (i >= 4)
      for (UnitHome& home : setting.homes) {
        const UnitHome homes[] = {UnitHome::Host, UnitHome::MomentsOnDisk, UnitHome::Disk, UnitHome::Device};
        home = homes[random.below(4)];
      }
    QString problem;
    const Sent sent = measure(spec, setting, &problem);
    QVERIFY2(problem.isEmpty(), qPrintable(problem));
    const Sent predicted = predict(spec, setting);
    const MemoryLayout layout(spec, setting.shape);
    const double groups = std::ceil(4.0 / static_cast<double>(setting.shape.group));
    const double inSlots = (2 * groups - 1) * setting.shape.slots *
                           static_cast<double>(layout.units().front().elements * setting.shape.weightBytes());
    // Of each plane of a block so many pages are cut in one transfer: each goes at most 2 + groups times a step.
    const double pages =
        static_cast<double>(pageBytes) * 6 * (2 + groups) * static_cast<double>(layout.blocks().size());
    const std::string what =
        fmt::format("{}: in {}, predicted {}; out {}, {}; read {}, {}; written {}, {}", i, sent.in, predicted.in,
                    sent.out, predicted.out, sent.read, predicted.read, sent.written, predicted.written);
    QVERIFY2(std::abs(sent.in - predicted.in) < 1 && std::abs(sent.out - predicted.out) < 1, what.c_str());
    QVERIFY2(sent.written >= predicted.written && sent.written <= predicted.written + pages, what.c_str());
    QVERIFY2(sent.read <= predicted.read + pages && sent.read >= predicted.read - inSlots, what.c_str());
  }
}

void TestStepTraffic::offloaded_data() {
  QTest::addColumn<int>("group");
  QTest::addColumn<int>("microBatches");
  QTest::addColumn<int>("slots");
  QTest::addColumn<int>("recompute");
  for (const Recompute policy : {Recompute::Full, Recompute::Selective, Recompute::None})
    for (const int slots : {3, 4})
      for (const auto& [group, k] : {std::pair{1, 4}, {2, 4}, {3, 6}, {4, 4}, {5, 5}, {8, 8}})
        QTest::newRow(
            fmt::format("groups of {} of {}, {} slots, recompute {}", group, k, slots, toString(policy)).c_str())
            << group << k << slots << static_cast<int>(policy);
}

/// Activations: each way within 5%. Weights and gradients are there too, but small.
void TestStepTraffic::offloaded() {
  QFETCH(int, group);
  QFETCH(int, microBatches);
  QFETCH(int, slots);
  QFETCH(int, recompute);
  const ModelSpec spec = smallModel("llama", layers, 32);
  Setting setting = baseSetting();
  setting.shape.microBatches = microBatches;
  setting.shape.group = group;
  setting.shape.recompute = static_cast<Recompute>(recompute);
  setting.homes.assign(layers + 1, UnitHome::Device);
  const Sent without = predict(spec, setting);
  setting.shape.offloadActivations = true;
  setting.shape.activationSlots = slots;
  QString problem;
  const Sent sent = measure(spec, setting, &problem);
  QVERIFY2(problem.isEmpty(), qPrintable(problem));
  const Sent predicted = predict(spec, setting);
  QVERIFY2(std::abs(sent.in - predicted.in) <= 0.05 * (sent.in - without.in),
           fmt::format("in {}, predicted {}", sent.in - without.in, predicted.in - without.in).c_str());
  QVERIFY2(std::abs(sent.out - predicted.out) <= 0.05 * (sent.out - without.out),
           fmt::format("out {}, predicted {}", sent.out - without.out, predicted.out - without.out).c_str());
}

QTEST_GUILESS_MAIN(TestStepTraffic)
#include "test_step_traffic.moc"
