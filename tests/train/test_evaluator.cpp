// The loss of each set is what a pass over that set's targets alone gives, and all together are the loss.
#include "base/json_reader.h"
#include "data/validation_reader.h"
#include "plan/planner.h"
#include "storage/model_reader.h"
#include "support/memory_file_system.h"
#include "support/token_documents.h"
#include "train/evaluator.h"
#include "train/load_weights.h"
#include "train/small_models.h"

#include <QTest>
#include <cmath>
#include <numbers>

using namespace millrace;
using namespace millrace::test;

class TestEvaluator : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void lossOfEachSet_data();
  void lossOfEachSet();
  void slidingWindowsAgreeWithTransformers();
};

void TestEvaluator::lossOfEachSet_data() {
  QTest::addColumn<int>("sets");
  QTest::addColumn<int>("rowsAtOnce");
  QTest::addColumn<int>("headChunk");
  QTest::newRow("no set is named") << 1 << 2 << 8;
  QTest::newRow("three sets") << 3 << 2 << 8;
  QTest::newRow("in one chunk, last batch short") << 3 << 3 << 512;
}

void TestEvaluator::lossOfEachSet() {
  QFETCH(int, sets);
  QFETCH(int, rowsAtOnce);
  QFETCH(int, headChunk);
  constexpr std::int64_t context = 16;
  const ModelSpec spec = smallModel("llama", 2);
  PlanRequest request;
  request.shape.context = context;
  request.shape.rows = rowsAtOnce;
  request.shape.headChunk = headChunk;
  request.shape.training = false;
  request.deviceLimit = request.hostLimit = GiB;
  ThreadPool pool(2);
  const auto device = createCpuDevice(pool, GiB, GiB);
  const auto runner = valueOrThrow(ForwardRunner::create(*device, pool, spec, valueOrThrow(planMemory(spec, request))));
  drawWeights(runner->store(), *runner->streams().copyIn, pool, spec, 5);

  MemoryFileSystem files;
  auto documents = randomDocuments(30, 4, 20, static_cast<std::size_t>(sets));
  for (TokenDocument& document : documents)
    for (std::int32_t& id : document.ids) id %= 97;
  std::vector<std::string> names = {"", "b", "a"};
  names.resize(static_cast<std::size_t>(sets));
  QVERIFY(writeShard(files, "/00000000.tokens", documents, {}, names).has_value());
  std::vector<std::uint64_t> all(documents.size());
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  const auto series = std::make_shared<ShardSeries>(files, "/", shardKey(), documentVocabulary, 0);
  series->add(*valueOrThrow(series->open(0)));
  const PackedRows rows(valueOrThrow(series->open(0)), all, context, 0, PackedRows::Tail::Pad);
  QVERIFY(rows.rows() % 2 == 1);
  ValidationReader reader({series}, DocumentChoice::All, context, 0,
                          std::make_shared<std::vector<std::int32_t>>(97, 3));
  const auto result = evaluate(*runner, reader, 0);
  QVERIFY2(result.has_value(), result ? "" : result.error().message.c_str());

  std::vector<double> sums(names.size());
  std::vector<std::int64_t> targets(names.size());
  for (std::int64_t row = 0; row < rows.rows(); ++row)
    for (std::size_t set = 0; set < names.size(); ++set) {
      MicroBatch batch = makeMicroBatch(1, context);
      QVERIFY(rows.fill(row, batch, 0).has_value());
      const auto setsOf = rows.setsOf(row);
      for (std::size_t i = 0; i < batch.targets.size(); ++i)
        if (setsOf[i] != set) batch.targets[i] = -1;
      const ForwardRunner::Loss loss = runner->loss(batch);
      sums[set] += loss.sum;
      targets[set] += loss.targets;
    }
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); };
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  QCOMPARE(result->targets, std::accumulate(targets.begin(), targets.end(), std::int64_t{0}));
  QVERIFY(near(result->loss, sum / static_cast<double>(result->targets)));
  QVERIFY(near(result->bitsPerByte, result->loss / std::numbers::ln2 / 3));
  if (sets == 1) {
    QVERIFY(result->sets.empty());
    return;
  }
  QCOMPARE(result->sets.size(), std::size_t{3});
  const std::size_t order[] = {0, 2, 1}; // by name
  for (std::size_t i = 0; i < 3; ++i) {
    const SetLoss& set = result->sets[i];
    QVERIFY(set.name == names[order[i]]);
    QCOMPARE(set.targets, targets[order[i]]);
    QVERIFY(near(set.loss, sums[order[i]] / static_cast<double>(set.targets)));
    QVERIFY(near(set.perplexity, std::exp(set.loss)));
    QVERIFY(near(set.bitsPerByte, set.loss / std::numbers::ln2 / 3));
  }
}

void TestEvaluator::slidingWindowsAgreeWithTransformers() {
  LocalFileSystem files;
  const Path folder = Path(MILLRACE_TEST_DATA) / "llama_gqa";
  const ModelSpec spec = valueOrThrow(readModelConfig(files, folder));
  const ModelReader reader = valueOrThrow(ModelReader::open(files, folder, spec));
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < 500; ++i)
    tokens.push_back(static_cast<std::int32_t>((i * i * 7 + i / 3) % spec.vocabulary));
  ThreadPool pool(2);
  const auto device = createCpuDevice(pool, GiB, GiB);
  const Json cases = valueOrThrow(parseJson(valueOrThrow(readTextFile(files, folder / "sliding.json")), "sliding"));
  QVERIFY(cases.size() >= 5);
  for (const Json& expected : cases) {
    PlanRequest request;
    request.shape.context = expected.at("context").get<std::int64_t>();
    request.shape.rows = 5;
    request.shape.headChunk = 48;
    request.shape.training = false;
    request.deviceLimit = request.hostLimit = GiB;
    const auto runner =
        valueOrThrow(ForwardRunner::create(*device, pool, spec, valueOrThrow(planMemory(spec, request))));
    valueOrThrow(loadWeights(runner->store(), *runner->streams().copyIn,
                             [&](const BlockSpec& block, std::int64_t first, std::span<float> values) {
                               return reader.readBlock(block, first, values);
                             }));
    const SlidingWindows windows(tokens, request.shape.context, expected.at("stride").get<std::int64_t>());
    const auto loss = valueOrThrow(evaluate(*runner, windows, [](std::int64_t) { return false; }));
    QCOMPARE(loss.targets, expected.at("targets").get<std::int64_t>());
    const double sum = expected.at("sum").get<double>();
    QVERIFY2(std::abs(loss.sum - sum) < 2e-5 * sum, qPrintable(QString("%1 and %2").arg(loss.sum).arg(sum)));
  }
}

QTEST_GUILESS_MAIN(TestEvaluator)
#include "test_evaluator.moc"
