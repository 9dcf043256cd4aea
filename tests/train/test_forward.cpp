// Forward alone: logits with a key/value cache equal those without, however the prompt is cut, wherever the weights
// are; and memory is used exactly as planned.
#include "support/test_device.h"
#include "train/small_models.h"

#include "plan/planner.h"
#include "storage/model_reader.h"
#include "train/forward_runner.h"
#include "train/load_weights.h"

#include <QTest>
#include <cmath>
#include <fmt/format.h>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr std::int64_t length = 44;

struct Model {
  explicit Model(const QString& name)
      : spec(valueOrThrow(readModelConfig(files, folder(name)))),
        reader(valueOrThrow(ModelReader::open(files, folder(name), spec))) {
    Random random(3, "prompt");
    for (std::int64_t i = 0; i < length; ++i)
      tokens.push_back(static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(spec.vocabulary))));
  }
  static Path folder(const QString& name) { return Path(MILLRACE_TEST_DATA) / name.toStdString(); }
  std::span<const std::int32_t> part(std::int64_t first, std::int64_t count) const {
    return std::span(tokens).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  }

  LocalFileSystem files;
  ModelSpec spec;
  ModelReader reader;
  std::vector<std::int32_t> tokens;
};

struct Machine {
  Machine(const Model& model, const MemoryPlan& plan, int threads = 2)
      : pool(threads),
        device(test::makeTestDevice(pool, plan.total(MemoryTier::Device), plan.total(MemoryTier::Host))),
        runner(valueOrThrow(ForwardRunner::create(*device, pool, model.spec, plan))) {
    valueOrThrow(loadWeights(runner->store(), *runner->streams().copyIn,
                             [&](const BlockSpec& block, std::int64_t first, std::span<float> values) {
                               return model.reader.readBlock(block, first, values);
                             }));
  }
  ThreadPool pool;
  std::unique_ptr<Device> device;
  std::unique_ptr<ForwardRunner> runner;
};

PlanRequest requestOf(std::int64_t context, std::int64_t cacheTokens, Precision precision = Precision::Fp32) {
  PlanRequest request;
  request.shape.context = context;
  request.shape.headChunk = 8;
  request.shape.training = false;
  request.shape.cacheTokens = cacheTokens;
  request.shape.precision = precision;
  request.deviceLimit = request.hostLimit = GiB;
  return request;
}

double relativeError(const std::vector<float>& actual, const std::vector<float>& expected) {
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(static_cast<double>(actual[i]) - static_cast<double>(expected[i]));
    if (!(difference <= worst)) worst = std::isnan(difference) ? HUGE_VAL : difference;
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return worst / largest;
}

void addModels() {
  QTest::addColumn<QString>("model");
  for (const char* name : {"llama_gqa", "llama_mha_tied", "llama3_rope_scaled", "qwen2", "qwen3", "mistral_swa", "gpt2",
                           "phi3", "olmo2", "gemma2", "mixtral", "qwen3_moe"})
    QTest::newRow(name) << QString(name);
}

} // namespace

class TestForward : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cachedEqualsUncached_data() { addModels(); }
  void cachedEqualsUncached();
  void narrowPrecision_data() { addModels(); }
  void narrowPrecision();
  void lossEqualsLogits_data() { addModels(); }
  void lossEqualsLogits();
  void placementChangesNoBit_data() { addModels(); }
  void placementChangesNoBit();
  void cacheIsUsedAgain();
};

void TestForward::cachedEqualsUncached() {
  QFETCH(QString, model);
  const Model m(model);
  Machine whole(m, *planMemory(m.spec, requestOf(length, 0)));
  std::vector<std::vector<float>> expected; // after each token
  for (std::int64_t n = 1; n <= length; ++n) expected.push_back(whole.runner->nextLogits(m.part(0, n)));

  for (const std::int64_t chunk : {std::int64_t{1}, std::int64_t{3}, std::int64_t{16}, length}) {
    const PlanRequest request = requestOf(chunk, length);
    for (const bool smallest : {true, false}) {
      const MemoryPlan plan = smallest ? smallestPlan(m.spec, request) : *planMemory(m.spec, request);
      QVERIFY(plan.homes.front() == (smallest ? UnitHome::Host : UnitHome::Device));
      Machine cached(m, plan);
      QCOMPARE(cached.device->memoryUse(MemorySpace::Device).peak, plan.total(MemoryTier::Device));
      QCOMPARE(cached.device->memoryUse(MemorySpace::Host).peak, plan.total(MemoryTier::Host));
      // A prompt in chunks, then token by token.
      for (const std::int64_t prompt : {std::int64_t{1}, std::int64_t{20}, length}) {
        std::int64_t done = 0;
        while (done < length) {
          const std::int64_t count = done < prompt ? std::min(chunk, prompt - done) : 1;
          const std::vector<float> logits = cached.runner->nextLogitsCached(m.part(done, count), done);
          done += count;
          const double error = relativeError(logits, expected[static_cast<std::size_t>(done) - 1]);
          QVERIFY2(error <= 1e-5, fmt::format("chunks of {}, prompt of {}, {} tokens: relative error {:.3g}", chunk,
                                              prompt, done, error)
                                      .c_str());
        }
      }
    }
  }
}

void TestForward::narrowPrecision() {
  QFETCH(QString, model);
  const Model m(model);
  Machine exact(m, *planMemory(m.spec, requestOf(length, 0)));
  Machine whole(m, *planMemory(m.spec, requestOf(length, 0, Precision::Bf16)));
  Machine cached(m, smallestPlan(m.spec, requestOf(16, length, Precision::Bf16)));
  std::int64_t done = 0;
  while (done < length) {
    const std::int64_t count = done < 32 ? std::min<std::int64_t>(16, 32 - done) : 1;
    const std::vector<float> logits = cached.runner->nextLogitsCached(m.part(done, count), done);
    done += count;
    QVERIFY(relativeError(logits, whole.runner->nextLogits(m.part(0, done))) < 0.04);
    const double error = relativeError(logits, exact.runner->nextLogits(m.part(0, done)));
    QVERIFY(error > 1e-5 && error < 0.06); // bf16 it is
  }
}

void TestForward::lossEqualsLogits() {
  QFETCH(QString, model);
  const Model m(model);
  PlanRequest request = requestOf(20, 0);
  request.shape.rows = 2;
  Machine machine(m, smallestPlan(m.spec, request));
  for (const double learned : {0.6, 0.0}) {
    const MicroBatch batch = randomBatch(m.spec.vocabulary, 2, 20, learned, 9);
    const ForwardRunner::Loss loss = machine.runner->loss(batch);
    const std::vector<float> logits = machine.runner->allLogits(batch);
    const auto vocabulary = static_cast<std::size_t>(m.spec.vocabulary);
    QCOMPARE(logits.size(), batch.tokens.size() * vocabulary);
    double expected = 0;
    std::int64_t targets = 0;
    for (std::size_t t = 0; t < batch.targets.size(); ++t) {
      if (batch.targets[t] < 0) continue;
      ++targets;
      double sum = 0;
      for (std::size_t v = 0; v < vocabulary; ++v) sum += std::exp(static_cast<double>(logits[t * vocabulary + v]));
      expected += std::log(sum) - logits[t * vocabulary + static_cast<std::size_t>(batch.targets[t])];
    }
    QCOMPARE(loss.targets, targets);
    QVERIFY(std::abs(loss.sum - expected) <= 1e-5 * std::max(1.0, expected));
  }
}

void TestForward::placementChangesNoBit() {
  QFETCH(QString, model);
  const Model m(model);
  using enum UnitHome;
  const std::size_t layers = m.spec.layers.size();
  std::vector<float> expected;
  for (const int threads : {1, 3})
    for (const int slots : {2, 3})
      for (const UnitHome home : {Host, WeightsOnDevice, Device}) {
        PlanRequest request = requestOf(length, 0);
        request.shape.slots = slots;
        std::vector<UnitHome> homes(layers, home);
        homes.push_back(home);
        Machine machine(m, layOutMemory(m.spec, request.shape, homes), threads);
        std::vector<float> logits;
        for (int repeat = 0; repeat < 2; ++repeat) logits = machine.runner->nextLogits(m.tokens);
        if (expected.empty()) expected = logits;
        QVERIFY(logits == expected);
      }
}

/// Another text begins at the front again; nothing of the one before is seen.
void TestForward::cacheIsUsedAgain() {
  const Model m("llama_gqa");
  Machine machine(m, smallestPlan(m.spec, requestOf(16, length)));
  const std::vector<float> alone = machine.runner->nextLogitsCached(m.part(0, 5), 0);
  (void)machine.runner->nextLogitsCached(m.part(5, 16), 5);
  (void)machine.runner->nextLogitsCached(m.part(20, 16), 0);
  QVERIFY(machine.runner->nextLogitsCached(m.part(0, 5), 0) == alone);
}

QTEST_GUILESS_MAIN(TestForward)
#include "test_forward.moc"
