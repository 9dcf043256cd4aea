// What a step promises besides equal bits: several micro-batches equal one, a step that is not finite or is interrupted
// leaves the state alone, memory is used exactly as planned.
#include "train/small_models.h"
#include "train/training_world.h"

#include "plan/layer_layout.h"
#include "plan/planner.h"

#include <QTest>
#include <cmath>
#include <limits>

using namespace millrace;
using namespace millrace::test;

namespace {

RunShape shapeOf(std::int64_t rows, std::int64_t context, std::int64_t microBatches) {
  RunShape shape;
  shape.rows = rows;
  shape.context = context;
  shape.microBatches = microBatches;
  shape.group = microBatches;
  shape.headChunk = 16;
  return shape;
}

/// Rows of several micro-batches as one.
MicroBatch joined(const std::vector<MicroBatch>& batches) {
  MicroBatch all;
  all.context = batches.front().context;
  for (const MicroBatch& batch : batches) {
    all.rows += batch.rows;
    all.tokens.insert(all.tokens.end(), batch.tokens.begin(), batch.tokens.end());
    all.targets.insert(all.targets.end(), batch.targets.begin(), batch.targets.end());
    all.positions.insert(all.positions.end(), batch.positions.begin(), batch.positions.end());
    all.documentStart.insert(all.documentStart.end(), batch.documentStart.begin(), batch.documentStart.end());
  }
  return all;
}

double relativeL2(std::span<const float> actual, std::span<const float> expected) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double d = static_cast<double>(actual[i]) - static_cast<double>(expected[i]);
    difference += d * d;
    size += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
  }
  return std::sqrt(difference / size);
}

std::size_t blockNamed(const TensorStore& store, const std::string& name) {
  for (std::size_t b = 0; b < store.blocks().size(); ++b)
    if (store.blocks()[b].name == name) return b;
  throw std::runtime_error("no block " + name);
}

void addHomes() {
  QTest::addColumn<int>("home");
  QTest::newRow("host") << static_cast<int>(UnitHome::Host);
  QTest::newRow("weights on the device") << static_cast<int>(UnitHome::WeightsOnDevice);
  QTest::newRow("device") << static_cast<int>(UnitHome::Device);
  QTest::newRow("moments on disk") << static_cast<int>(UnitHome::MomentsOnDisk);
  QTest::newRow("disk") << static_cast<int>(UnitHome::Disk);
}

} // namespace

class TestTrainerSteps : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void microBatchesEqualOneBatch_data();
  void microBatchesEqualOneBatch();
  void notFiniteIsDiscarded_data();
  void notFiniteIsDiscarded();
  void interruptedLeavesStateAlone_data();
  void interruptedLeavesStateAlone();
  void interruptedWithoutClipping();
  void nextBatchMayBeUnknown_data();
  void nextBatchMayBeUnknown();
  void wrongBatchesAreRefused();
  void smallestLimitIsEnough_data();
  void smallestLimitIsEnough();
  void hostLimitIsNamed();
  void recomputeKeepsLittle();
};

void TestTrainerSteps::microBatchesEqualOneBatch_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("count");
  QTest::addColumn<int>("rows");
  for (const char* family : {"llama", "qwen3", "gpt2", "gemma2", "mixtral"}) {
    QTest::newRow(fmt::format("{}: 4 of 2 rows", family).c_str()) << QString(family) << 4 << 2;
    QTest::newRow(fmt::format("{}: 64 of one row", family).c_str()) << QString(family) << 64 << 1;
  }
}

void TestTrainerSteps::microBatchesEqualOneBatch() {
  QFETCH(QString, family);
  QFETCH(int, count);
  QFETCH(int, rows);
  const ModelSpec spec = smallModel(family.toStdString());
  constexpr std::int64_t context = 24;
  const std::vector<MicroBatch> several = unevenBatches(spec.vocabulary, count, rows, context, 5);
  const std::vector<MicroBatch> one{joined(several)};
  Setting setting;
  setting.shape = shapeOf(rows, context, count);
  World many(spec, setting);
  setting.shape = shapeOf(rows * count, context, 1);
  World single(spec, setting);
  const auto manyOutcome = many.trainer().step({several, {}, 0.0});
  const auto singleOutcome = single.trainer().step({one, {}, 0.0});
  QVERIFY(manyOutcome && singleOutcome);
  QCOMPARE(manyOutcome->targets, singleOutcome->targets);
  QVERIFY(std::abs(manyOutcome->loss / singleOutcome->loss - 1) < 1e-6);
  QVERIFY(std::abs(manyOutcome->gradNorm / singleOutcome->gradNorm - 1) < 1e-6);
  const std::vector<BlockSpec>& blocks = single.store().blocks();
  double worst = 0;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const std::vector<float> actual = many.trainer().gradient(b);
    const std::vector<float> expected = single.trainer().gradient(b);
    for (const ParameterSpec& parameter : blocks[b].parameters) {
      const auto part = [&](const std::vector<float>& all) {
        return std::span(all).subspan(static_cast<std::size_t>(parameter.offset),
                                      static_cast<std::size_t>(parameter.elements()));
      };
      const double error = relativeL2(part(actual), part(expected));
      worst = std::max(worst, error);
      QVERIFY2(error <= 1e-6, fmt::format("{}: relative l2 {:.3g}", parameter.name, error).c_str());
    }
  }
  QVERIFY(worst > 0); // the orders of addition do differ
}

void TestTrainerSteps::notFiniteIsDiscarded_data() {
  addHomes();
}

void TestTrainerSteps::notFiniteIsDiscarded() {
  QFETCH(int, home);
  const ModelSpec spec = smallModel("llama");
  const std::vector<MicroBatch> first = unevenBatches(spec.vocabulary, 2, 2, 16, 1);
  const std::vector<MicroBatch> second = unevenBatches(spec.vocabulary, 2, 2, 16, 2);
  for (const Precision precision : {Precision::Fp32, Precision::Bf16})
    for (const ClipMode clip : {ClipMode::Exact, ClipMode::ExactBf16})
      for (const char* name : {"layers.3.mlp", "layers.0.attention", "head", "embedding"}) {
        Setting setting;
        setting.shape = shapeOf(2, 16, 2);
        setting.shape.precision = precision;
        setting.shape.clip = clip;
        setting.homes.assign(5, static_cast<UnitHome>(home));
        World spoilt(spec, setting);
        World other(spec, setting);
        for (World* world : {&spoilt, &other}) QVERIFY(world->trainer().step({first, second, 0.01}).has_value());
        spoilt.trainer().applyPending();

        // Of an embedding table, a row that the batch uses.
        const std::size_t block = blockNamed(spoilt.store(), name);
        const ParameterSpec& parameter = spoilt.store().blocks()[block].parameters.back();
        const std::int64_t element =
            parameter.offset + (std::string(name) == "embedding" ? second[0].tokens[3] * 64 : 3);
        float before = 0;
        const float infinity = std::numeric_limits<float>::infinity();
        spoilt.store().read(*spoilt.streams().copyOut, block, TensorStore::Quantity::Master, element, {&before, 1});
        spoilt.store().write(*spoilt.streams().copyIn, block, TensorStore::Quantity::Master, element, {&infinity, 1});
        const StateBits planted = spoilt.state();
        for (int attempt = 0; attempt < 2; ++attempt) {
          const auto outcome = spoilt.trainer().step({second, second, 0.01});
          QVERIFY(outcome.has_value());
          QVERIFY2(outcome->discarded, name);
          QVERIFY2(spoilt.state().difference(planted).empty(), name);
          QCOMPARE(spoilt.trainer().updates(), std::int64_t{1});
        }
        spoilt.store().write(*spoilt.streams().copyIn, block, TensorStore::Quantity::Master, element, {&before, 1});
        const auto healed = spoilt.trainer().step({second, {}, 0.01});
        const auto usual = other.trainer().step({second, {}, 0.01});
        QVERIFY(healed && usual);
        QVERIFY(!healed->discarded);
        QCOMPARE(healed->loss, usual->loss);
        const std::string difference = spoilt.state().difference(other.state());
        QVERIFY2(difference.empty(), fmt::format("{}: {}", name, difference).c_str());
      }
}

void TestTrainerSteps::interruptedLeavesStateAlone_data() {
  QTest::addColumn<int>("home");
  QTest::addColumn<int>("group");
  QTest::addColumn<bool>("offload");
  QTest::newRow("host") << static_cast<int>(UnitHome::Host) << 3 << false;
  QTest::newRow("host, groups of 2, offloaded") << static_cast<int>(UnitHome::Host) << 2 << true;
  QTest::newRow("device, groups of 1") << static_cast<int>(UnitHome::Device) << 1 << false;
  QTest::newRow("disk, groups of 2, offloaded") << static_cast<int>(UnitHome::Disk) << 2 << true;
}

void TestTrainerSteps::interruptedLeavesStateAlone() {
  QFETCH(int, home);
  QFETCH(int, group);
  QFETCH(bool, offload);
  const ModelSpec spec = smallModel("qwen3");
  Setting setting;
  setting.shape = shapeOf(1, 16, 3);
  setting.shape.group = group;
  setting.shape.offloadActivations = offload;
  setting.shape.activationSlots = offload ? 3 : 0;
  setting.homes.assign(5, static_cast<UnitHome>(home));
  const std::vector<MicroBatch> first = unevenBatches(spec.vocabulary, 3, 1, 16, 1);
  const std::vector<MicroBatch> second = unevenBatches(spec.vocabulary, 3, 1, 16, 2);

  World uninterrupted(spec, setting);
  QVERIFY(uninterrupted.trainer().step({first, second, 0.01}).has_value());
  const StateBits before = uninterrupted.state();
  int boundaries = 0;
  const auto expected = uninterrupted.trainer().step({second, {}, 0.01}, [&] {
    ++boundaries;
    return false;
  });
  QVERIFY(expected.has_value());
  const StateBits after = uninterrupted.state();
  const int groups = (3 + group - 1) / group;
  QCOMPARE(boundaries, groups * (2 * 4 + 1)); // every lease of a unit

  World world(spec, setting);
  QVERIFY(world.trainer().step({first, second, 0.01}).has_value());
  for (int at = 1; at <= boundaries; ++at) {
    int asked = 0;
    const auto outcome = world.trainer().step({second, {}, 0.01}, [&] { return ++asked == at; });
    QVERIFY(!outcome.has_value());
    QCOMPARE(outcome.error().kind, ErrorKind::Interrupted);
    QCOMPARE(world.trainer().updates(), std::int64_t{1});
    const std::string difference = world.state().difference(before);
    QVERIFY2(difference.empty(), fmt::format("boundary {}: {}", at, difference).c_str());
  }
  const auto outcome = world.trainer().step({second, {}, 0.01});
  QVERIFY(outcome.has_value());
  QCOMPARE(outcome->loss, expected->loss);
  QCOMPARE(outcome->gradNorm, expected->gradNorm);
  const std::string difference = world.state().difference(after);
  QVERIFY2(difference.empty(), difference.c_str());
}

/// Once updates have begun there is no way back, so the step is finished.
void TestTrainerSteps::interruptedWithoutClipping() {
  const ModelSpec spec = smallModel("llama");
  Setting setting;
  setting.shape = shapeOf(1, 16, 2);
  setting.shape.clip = ClipMode::Off;
  const std::vector<MicroBatch> batches = unevenBatches(spec.vocabulary, 2, 1, 16, 1);
  World other(spec, setting);
  const StateBits before = other.state();
  QVERIFY(other.trainer().step({batches, {}, 0.01}).has_value());
  const StateBits after = other.state();
  int finished = 0, interrupted = 0;
  for (int at = 1; at <= 9; ++at) {
    World world(spec, setting);
    int asked = 0;
    const auto outcome = world.trainer().step({batches, {}, 0.01}, [&] { return ++asked == at; });
    ++(outcome ? finished : interrupted);
    const std::string difference = world.state().difference(outcome ? after : before);
    QVERIFY2(difference.empty(), fmt::format("boundary {}: {}", at, difference).c_str());
  }
  QVERIFY(finished > 0 && interrupted > 0);
}

void TestTrainerSteps::nextBatchMayBeUnknown_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("clip");
  for (const char* family : {"llama", "gpt2"})
    for (const ClipMode clip : {ClipMode::Exact, ClipMode::Off})
      QTest::newRow(fmt::format("{} clip {}", family, toString(clip)).c_str())
          << QString(family) << static_cast<int>(clip);
}

/// The rows that are updated first are a matter of speed, even when the batch that comes is another one. The vocabulary
/// is large enough for updates to be running still when the next step looks its rows up.
void TestTrainerSteps::nextBatchMayBeUnknown() {
  QFETCH(QString, family);
  QFETCH(int, clip);
  ModelSpec spec = smallModel(family.toStdString(), 1);
  spec.vocabulary = 60000;
  Setting setting;
  setting.shape = shapeOf(2, 16, 1);
  setting.shape.clip = static_cast<ClipMode>(clip);
  std::vector<std::vector<MicroBatch>> batches;
  for (std::uint64_t s = 0; s < 4; ++s) batches.push_back({randomBatch(spec.vocabulary, 2, 16, 0.9, s)});
  // Every batch uses the last row, which a sweep over the table reaches last.
  for (auto& batch : batches) batch[0].tokens[7] = static_cast<std::int32_t>(spec.vocabulary - 1);
  enum class Next { Known, Unknown, Other };
  const auto train = [&](Next next) {
    World world(spec, setting);
    for (std::size_t s = 0; s < batches.size(); ++s) {
      StepInput input{batches[s], {}, 0.01};
      std::vector<MicroBatch> other{randomBatch(100, 2, 16, 0.9, s)};
      if (next == Next::Known && s + 1 < batches.size()) input.next = batches[s + 1];
      if (next == Next::Other) input.next = other;
      if (!world.trainer().step(input)) throw std::runtime_error("a step failed");
    }
    return world.state();
  };
  const StateBits known = train(Next::Known);
  QCOMPARE(train(Next::Unknown).difference(known), std::string());
  QCOMPARE(train(Next::Other).difference(known), std::string());
}

void TestTrainerSteps::wrongBatchesAreRefused() {
  const ModelSpec spec = smallModel("llama");
  Setting setting;
  setting.shape = shapeOf(1, 16, 1);
  World world(spec, setting);
  const StateBits before = world.state();
  std::vector<MicroBatch> batch{randomBatch(spec.vocabulary, 1, 16, 0.9, 1)};
  const auto refused = [&](const std::vector<MicroBatch>& wrong, const char* word) {
    const auto outcome = world.trainer().step({wrong, {}, 0.01});
    return !outcome && outcome.error().kind == ErrorKind::BadInput &&
           outcome.error().message.find(word) != std::string::npos;
  };
  auto wrong = batch;
  wrong[0].tokens[5] = static_cast<std::int32_t>(spec.vocabulary);
  QVERIFY(refused(wrong, "token 5"));
  wrong = batch;
  wrong[0].positions[2] = 16;
  QVERIFY(refused(wrong, "position 2"));
  wrong = batch;
  wrong[0].documentStart[1] = -1;
  QVERIFY(refused(wrong, "document start 1"));
  wrong = batch;
  wrong[0].targets.pop_back();
  QVERIFY(refused(wrong, "target"));
  wrong = batch;
  wrong[0].targets.assign(16, -1);
  QVERIFY(refused(wrong, "masked"));
  wrong[0] = randomBatch(spec.vocabulary, 2, 16, 0.9, 1);
  QVERIFY(refused(wrong, "2 rows"));
  QVERIFY(world.state().difference(before).empty());
  QVERIFY(world.trainer().step({batch, {}, 0.01}).has_value());
}

void TestTrainerSteps::smallestLimitIsEnough_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("slots");
  QTest::addColumn<int>("precision");
  for (const char* family : {"llama", "qwen3", "gpt2", "mistral", "olmo2", "gemma2", "qwen3_moe"})
    for (const int slots : {2, 3})
      for (const Precision precision : {Precision::Fp32, Precision::Bf16})
        QTest::newRow(fmt::format("{}, {} slots, {}", family, slots, toString(precision)).c_str())
            << QString(family) << slots << static_cast<int>(precision);
}

void TestTrainerSteps::smallestLimitIsEnough() {
  QFETCH(QString, family);
  QFETCH(int, slots);
  QFETCH(int, precision);
  const ModelSpec spec = smallModel(family.toStdString());
  PlanRequest request;
  request.shape = shapeOf(2, 24, 3);
  request.shape.slots = slots;
  request.shape.precision = static_cast<Precision>(precision);
  const Bytes smallest = smallestPlan(spec, request).total(MemoryTier::Device);
  request.hostLimit = GiB;
  request.deviceLimit = smallest - 1;
  const auto refused = planMemory(spec, request);
  QVERIFY(!refused.has_value());
  QCOMPARE(refused.error().kind, ErrorKind::DoesNotFit);
  QVERIFY2(refused.error().message.find(std::to_string(smallest)) != std::string::npos,
           refused.error().message.c_str());

  request.deviceLimit = smallest;
  const auto plan = planMemory(spec, request);
  QVERIFY2(plan.has_value(), plan ? "" : plan.error().message.c_str());
  QVERIFY(plan->total(MemoryTier::Device) <= smallest);
  const std::vector<MicroBatch> batches = unevenBatches(spec.vocabulary, 3, 2, 24, 1);
  World small(spec, *plan);
  QVERIFY(small.trainer().step({batches, batches, 0.01}).has_value());
  QVERIFY(small.trainer().step({batches, {}, 0.01}).has_value());
  QCOMPARE(small.device().memoryUse(MemorySpace::Device).peak, plan->total(MemoryTier::Device));
  QCOMPARE(small.device().memoryUse(MemorySpace::Host).peak, plan->total(MemoryTier::Host));

  // With plenty of memory the same bits.
  request.deviceLimit = GiB;
  const auto ample = planMemory(spec, request);
  QVERIFY(ample.has_value());
  QVERIFY(ample->total(MemoryTier::Device) > smallest);
  World large(spec, *ample);
  QVERIFY(large.trainer().step({batches, batches, 0.01}).has_value());
  QVERIFY(large.trainer().step({batches, {}, 0.01}).has_value());
  const std::string difference = small.state().difference(large.state());
  QVERIFY2(difference.empty(), difference.c_str());
}

void TestTrainerSteps::hostLimitIsNamed() {
  const ModelSpec spec = smallModel("llama");
  PlanRequest request;
  request.shape = shapeOf(2, 24, 3);
  request.deviceLimit = GiB;
  request.hostLimit = 1000;
  auto refused = planMemory(spec, request);
  QVERIFY(!refused.has_value());
  QCOMPARE(refused.error().kind, ErrorKind::DoesNotFit);
  const std::string message = refused.error().message;
  QVERIFY2(message.find("host memory") != std::string::npos, message.c_str());
  const auto at = message.find('(');
  QVERIFY(at != std::string::npos);
  const Bytes needed = std::stoll(message.substr(at + 1));
  request.hostLimit = needed;
  QVERIFY(planMemory(spec, request).has_value());
  request.hostLimit = needed - 1;
  refused = planMemory(spec, request);
  QVERIFY(!refused.has_value());
  QVERIFY(refused.error().message.find(std::to_string(needed)) != std::string::npos);
}

/// The layer of a model of seven billion parameters.
void TestTrainerSteps::recomputeKeepsLittle() {
  const Json config = Json::parse(R"({"model_type": "llama", "vocab_size": 32000, "hidden_size": 4096,
    "intermediate_size": 11008, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 32,
    "max_position_embeddings": 4096})");
  const ModelSpec spec = valueOrThrow(modelSpecFromConfig(config, "config"));
  for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
    RunShape shape = shapeOf(1, 1024, 1);
    shape.precision = precision;
    const auto kept = [&](Recompute policy) {
      shape.recompute = policy;
      return static_cast<double>(LayerLayout(spec, shape).recordBytes());
    };
    const double everything = kept(Recompute::None);
    QVERIFY2(kept(Recompute::Full) <= 0.3 * everything, fmt::format("{}", kept(Recompute::Full) / everything).c_str());
    QVERIFY2(kept(Recompute::Selective) <= 0.3 * everything,
             fmt::format("{}", kept(Recompute::Selective) / everything).c_str());
    QVERIFY(kept(Recompute::Full) < kept(Recompute::Selective));
  }
}

QTEST_GUILESS_MAIN(TestTrainerSteps)
#include "test_trainer_steps.moc"
