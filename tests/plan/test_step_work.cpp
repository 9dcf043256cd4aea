// The counted work of a step against sums made by hand.
#include "plan/step_work.h"

#include "base/random.h"
#include "plan/matrix_products.h"
#include "train/small_models.h"

#include <QTest>
#include <cmath>
#include <fmt/format.h>

using namespace millrace;
using namespace millrace::test;
using enum UnitHome;

namespace {

RunShape shapeOf(Precision precision = Precision::Fp32, ClipMode clip = ClipMode::Exact) {
  RunShape shape;
  shape.rows = 2;
  shape.context = 16;
  shape.microBatches = 4;
  shape.group = 4;
  shape.precision = precision;
  shape.clip = clip;
  shape.headChunk = 13;
  return shape;
}

double elementsOf(const StreamUnit& unit) {
  return static_cast<double>(unit.elements);
}

/// Parts of the work that homes decide, in a form that can be compared.
struct Traffic {
  double forwardIn = 0, backwardIn = 0, backwardOut = 0;
  double forwardRead = 0, forwardWrite = 0, backwardRead = 0, backwardWrite = 0;
  double host = 0, disk = 0, device = 0;
};

double tableElements(const MemoryLayout& layout) {
  double elements = 0;
  for (const BlockSpec& block : layout.blocks())
    if (block.kind == BlockKind::Embedding || block.kind == BlockKind::Positions)
      elements += static_cast<double>(block.elements);
  return elements;
}

/// What these homes add to everything on the device, the tables' rows and updates aside (embeddingRows()).
Traffic trafficOf(const MemoryLayout& layout, const std::vector<UnitHome>& homes) {
  const StepCount count(layout);
  const StepWork work = count.work(homes);
  const StepWork none = count.work(std::vector<UnitHome>(homes.size(), Device));
  const RunShape& shape = layout.shape();
  const auto vocabulary = static_cast<double>(layout.spec().vocabulary);
  double rows = vocabulary * (1 - std::exp(-static_cast<double>(shape.tokens()) / vocabulary));
  if (layout.spec().learnedPositions) rows += static_cast<double>(shape.context);
  rows *= static_cast<double>(layout.spec().hidden * shape.microBatches);
  double listed = layout.spec().tiedEmbeddings ? 4 * static_cast<double>(embeddingRowsOfStep(layout.spec(), shape)) : 0;
  double onHost = tableElements(layout), onDevice = 0;
  if (homes.back() == Device) {
    rows = listed = 0;
    std::swap(onHost, onDevice);
  }
  return {work.forward.in - none.forward.in - rows * static_cast<double>(shape.weightBytes()) + listed,
          work.backward.in - none.backward.in,
          work.backward.out - none.backward.out - rows * 4,
          work.forward.diskRead,
          work.forward.diskWrite,
          work.backward.diskRead,
          work.backward.diskWrite,
          work.hostUpdates - onHost,
          work.diskUpdates,
          work.deviceUpdates - onDevice};
}

void compare(const Traffic& actual, const Traffic& expected) {
  QCOMPARE(actual.forwardIn, expected.forwardIn);
  QCOMPARE(actual.backwardIn, expected.backwardIn);
  QCOMPARE(actual.backwardOut, expected.backwardOut);
  QCOMPARE(actual.forwardRead, expected.forwardRead);
  QCOMPARE(actual.forwardWrite, expected.forwardWrite);
  QCOMPARE(actual.backwardRead, expected.backwardRead);
  QCOMPARE(actual.backwardWrite, expected.backwardWrite);
  QCOMPARE(actual.host, expected.host);
  QCOMPARE(actual.disk, expected.disk);
  QCOMPARE(actual.device, expected.device);
}

} // namespace

class TestStepWork : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void keys();
  void productsAddUp_data();
  void productsAddUp();
  void operations();
  void attention();
  void busBytes();
  void groups();
  void narrowGradients();
  void disk_data();
  void disk();
  void updates();
  void tied();
  void batches();
  void embeddingRows();
};

void TestStepWork::keys() {
  for (const std::int64_t context : {1, 2, 7, 64})
    for (const std::int64_t window : {0, 1, 2, 7, 64, 100}) {
      std::int64_t seen = 0;
      for (std::int64_t query = 0; query < context; ++query)
        for (std::int64_t key = 0; key <= query; ++key) seen += window == 0 || key > query - window ? 1 : 0;
      QCOMPARE(averageKeys(context, window), static_cast<double>(seen) / static_cast<double>(context));
    }
}

void TestStepWork::productsAddUp_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("recompute");
  for (const char* family : {"llama", "qwen3", "gpt2", "mistral", "olmo2", "gemma2", "qwen3_moe"})
    for (const Recompute policy : {Recompute::Full, Recompute::Selective, Recompute::None})
      QTest::newRow(fmt::format("{} {}", family, toString(policy)).c_str())
          << QString(family) << static_cast<int>(policy);
}

void TestStepWork::productsAddUp() {
  QFETCH(QString, family);
  QFETCH(int, recompute);
  const ModelSpec spec = smallModel(family.toStdString());
  RunShape shape = shapeOf();
  shape.recompute = static_cast<Recompute>(recompute);
  const MemoryLayout layout(spec, shape);
  const StepWork work = StepCount(layout).work(std::vector<UnitHome>(5, Host));
  QCOMPARE(work.forward.products + work.backward.products, productFlops(stepProducts(spec, shape)));
  QVERIFY(work.forward.products > 0 && work.backward.products > work.forward.products);
}

/// 2 operations a parameter of layer matrices and token forward, 4 backward, and 2 more for what is computed again: all
/// but the last projection, and with selective recompute the attention's output too. The head's 6 are backward's.
void TestStepWork::operations() {
  const ModelSpec spec = smallModel("llama");
  const double hidden = 64, inner = 112, vocabulary = 97, tokens = 2 * 16 * 4;
  const double qkv = hidden * (hidden + hidden), out = hidden * hidden; // 4 heads of 16, 2 of keys and of values
  const double up = hidden * 2 * inner, down = inner * hidden;
  const double layers = 4 * (qkv + out + up + down), head = vocabulary * hidden;
  const auto products = [&](Recompute policy) {
    RunShape shape = shapeOf();
    shape.recompute = policy;
    const MemoryLayout layout(spec, shape);
    const StepWork work = StepCount(layout).work(std::vector<UnitHome>(5, Host));
    return std::pair(work.forward.products, work.backward.products);
  };
  QCOMPARE(products(Recompute::None), std::pair(2 * layers * tokens, (4 * layers + 6 * head) * tokens));
  QCOMPARE(products(Recompute::Full), std::pair(2 * layers * tokens, (6 * layers - 4 * 2 * down + 6 * head) * tokens));
  QCOMPARE(products(Recompute::Selective),
           std::pair(2 * layers * tokens, (6 * layers - 4 * 2 * (down + out) + 6 * head) * tokens));
}

void TestStepWork::attention() {
  for (const char* family : {"llama", "mistral"}) {
    const ModelSpec spec = smallModel(family);
    double pairs = 0; // of queries and keys, in a row and layer
    for (std::int64_t query = 0; query < 16; ++query)
      pairs += static_cast<double>(spec.layers[0].window > 0 ? std::min<std::int64_t>(query + 1, 7) : query + 1);
    const double product = 2 * 64 * pairs * 2 * 4 * 4; // width, rows, micro-batches, layers
    for (const auto& [policy, backward] :
         {std::pair{Recompute::Full, 7}, {Recompute::Selective, 5}, {Recompute::None, 5}}) {
      RunShape shape = shapeOf();
      shape.recompute = policy;
      const MemoryLayout layout(spec, shape);
      const StepWork work = StepCount(layout).work(std::vector<UnitHome>(5, Host));
      QCOMPARE(work.forward.attention, 2 * product);
      QCOMPARE(work.backward.attention, backward * product);
    }
  }
}

void TestStepWork::busBytes() {
  const ModelSpec spec = smallModel("llama", 6);
  for (const Precision precision : {Precision::Fp32, Precision::Bf16})
    for (const int slots : {2, 3}) {
      RunShape shape = shapeOf(precision);
      shape.slots = slots;
      const MemoryLayout layout(spec, shape);
      const StepCount count(layout);
      const double layer = elementsOf(layout.units()[0]), head = elementsOf(layout.units()[6]);
      const double weight = precision == Precision::Fp32 ? 4 : 2;
      // In for forward, and for backward but for what the slots hold; gradients leave once.
      compare(trafficOf(layout, std::vector<UnitHome>(7, Host)), {.forwardIn = 6 * weight * layer,
                                                                  .backwardIn = weight * ((6 - slots) * layer + head),
                                                                  .backwardOut = 4 * (6 * layer + head),
                                                                  .host = 6 * layer + head});
      compare(trafficOf(layout, std::vector<UnitHome>(7, WeightsOnDevice)), {.forwardIn = 6 * weight * layer,
                                                                             .backwardIn = weight * head,
                                                                             .backwardOut = 4 * (6 * layer + head),
                                                                             .host = 6 * layer + head});
      compare(trafficOf(layout, {Device, Host, Device, WeightsOnDevice, Device, Device, Device}),
              {.forwardIn = 2 * weight * layer,
               .backwardOut = 4 * 2 * layer, // the one that streams is in its slot
               .host = 2 * layer,
               .device = 4 * layer + head});
      QCOMPARE(StepCount(layout).work(std::vector<UnitHome>(7, Device)).deviceUpdates,
               6 * layer + head + tableElements(layout));
    }
}

void TestStepWork::groups() {
  const ModelSpec spec = smallModel("llama", 6);
  for (const auto& [group, groups] : {std::pair{1, 4}, {2, 2}, {3, 2}, {4, 1}}) {
    RunShape shape = shapeOf(Precision::Bf16);
    shape.group = group;
    const MemoryLayout layout(spec, shape);
    const double layer = elementsOf(layout.units()[0]), head = elementsOf(layout.units()[6]);
    // Forward of a later group finds the first layers in the slots; sums go out and come back between groups.
    compare(trafficOf(layout, std::vector<UnitHome>(7, Host)),
            {.forwardIn = 2 * layer * (6 + (groups - 1) * 4),
             .backwardIn = 2 * (groups * 4 * layer + head) + (groups - 1) * 4 * (6 * layer + head),
             .backwardOut = groups * 4 * (6 * layer + head),
             .host = 6 * layer + head});
    compare(trafficOf(layout, std::vector<UnitHome>(7, WeightsOnDevice)),
            {.forwardIn = 2 * 6 * layer,
             .backwardIn = 2 * head + (groups - 1) * 4 * (6 * layer + head),
             .backwardOut = groups * 4 * (6 * layer + head),
             .host = 6 * layer + head});
  }
}

void TestStepWork::narrowGradients() {
  const ModelSpec spec = smallModel("llama", 6);
  RunShape shape = shapeOf(Precision::Fp32, ClipMode::ExactBf16);
  const auto leaves = [&] {
    const MemoryLayout layout(spec, shape);
    return trafficOf(layout, std::vector<UnitHome>(7, Host)).backwardOut;
  };
  const MemoryLayout layout(spec, shape);
  const double layers = 6 * elementsOf(layout.units()[0]), head = elementsOf(layout.units()[6]);
  QCOMPARE(leaves(), 2 * layers + 4 * head);
  shape.group = 2; // the first group's sums are fp32
  QCOMPARE(leaves(), 6 * layers + 8 * head);
  shape.clip = ClipMode::Off;
  shape.group = 4;
  QCOMPARE(leaves(), 4 * (layers + head));
}

void TestStepWork::disk_data() {
  QTest::addColumn<int>("clip");
  QTest::addColumn<int>("precision");
  for (const ClipMode clip : {ClipMode::Exact, ClipMode::ExactBf16, ClipMode::Off})
    for (const Precision precision : {Precision::Fp32, Precision::Bf16})
      QTest::newRow(fmt::format("clip {} {}", toString(clip), toString(precision)).c_str())
          << static_cast<int>(clip) << static_cast<int>(precision);
}

/// Two layers with moments on disk, three wholly there, one in memory; two groups.
void TestStepWork::disk() {
  QFETCH(int, clip);
  QFETCH(int, precision);
  const ModelSpec spec = smallModel("llama", 6);
  RunShape shape = shapeOf(static_cast<Precision>(precision), static_cast<ClipMode>(clip));
  shape.group = 2;
  const MemoryLayout layout(spec, shape);
  const double layer = elementsOf(layout.units()[0]);
  const double weight = shape.precision == Precision::Fp32 ? 4 : 2;
  const double state = 12 - weight;
  const double waiting = shape.clip == ClipMode::Exact ? 4 : shape.clip == ClipMode::ExactBf16 ? 2 : 0;
  const bool off = shape.clip == ClipMode::Off;
  Traffic expected;
  // An update reads all that AdamW works on and writes it back, but for the gradient.
  const double updateRead = (5 * state + 3 * (weight + waiting)) * layer;
  const double updateWrite = (5 * state + 3 * weight) * layer;
  (off ? expected.backwardRead : expected.forwardRead) += updateRead;
  (off ? expected.backwardWrite : expected.forwardWrite) += updateWrite;
  // Weights for each pass of each group; gradients between groups and while they wait.
  expected.forwardRead += 2 * 3 * weight * layer;
  expected.backwardRead += 2 * 3 * weight * layer + 3 * 4 * layer;
  expected.backwardWrite += 3 * (waiting + 4) * layer;
  const Traffic actual = trafficOf(layout, {Disk, MomentsOnDisk, Host, Disk, MomentsOnDisk, Disk, Device});
  QCOMPARE(actual.forwardRead, expected.forwardRead);
  QCOMPARE(actual.forwardWrite, expected.forwardWrite);
  QCOMPARE(actual.backwardRead, expected.backwardRead);
  QCOMPARE(actual.backwardWrite, expected.backwardWrite);
  QCOMPARE(actual.disk, 5 * layer);
  QCOMPARE(actual.host, 1 * layer);
  // Over the bus what is on disk goes as what is in memory.
  const Traffic memory = trafficOf(layout, {Host, Host, Host, Host, Host, Host, Device});
  QCOMPARE(actual.forwardIn, memory.forwardIn);
  QCOMPARE(actual.backwardIn, memory.backwardIn);
  QCOMPARE(actual.backwardOut, memory.backwardOut);
  QCOMPARE(memory.forwardRead + memory.forwardWrite + memory.backwardRead + memory.backwardWrite, 0.0);
}

/// Every element is updated somewhere, whatever the homes.
void TestStepWork::updates() {
  Random random(3, "homes");
  for (const char* family : {"llama", "gpt2"}) {
    const ModelSpec spec = smallModel(family);
    const MemoryLayout layout(spec, shapeOf());
    double all = 0;
    for (const BlockSpec& block : layout.blocks()) all += static_cast<double>(block.elements);
    for (int i = 0; i < 50; ++i) {
      std::vector<UnitHome> homes;
      for (int unit = 0; unit < 5; ++unit) homes.push_back(static_cast<UnitHome>(random.below(unitHomes)));
      const StepWork work = StepCount(layout).work(homes);
      QCOMPARE(work.hostUpdates + work.diskUpdates + work.deviceUpdates, all);
      QCOMPARE(work.units, 5.0);
    }
  }
}

/// A tied matrix on the host comes in for the head and its gradient leaves in fp32, but it is updated with the tables.
void TestStepWork::tied() {
  const ModelSpec spec = smallModel("gpt2");
  const RunShape shape = shapeOf(Precision::Bf16, ClipMode::ExactBf16);
  const MemoryLayout layout(spec, shape);
  double norm = 0;
  for (const BlockSpec& block : layout.blocks())
    if (block.kind == BlockKind::FinalNorm) norm += static_cast<double>(block.elements);
  const double head = elementsOf(layout.units()[4]);
  compare(trafficOf(layout, {Device, Device, Device, Device, WeightsOnDevice}),
          {.backwardIn = 2 * head, .backwardOut = 4 * head, .host = norm, .device = 4 * elementsOf(layout.units()[0])});
  const StepWork device = StepCount(layout).work(std::vector<UnitHome>(5, Device));
  QCOMPARE(device.deviceUpdates, 4 * elementsOf(layout.units()[0]) + norm + tableElements(layout));
}

/// More batches: more of what tokens cause, and the same weights, gradients and updates.
void TestStepWork::batches() {
  const ModelSpec spec = smallModel("llama");
  const MemoryLayout layout(spec, shapeOf());
  const StepCount count(layout);
  const std::vector<UnitHome> homes{Host, WeightsOnDevice, Disk, MomentsOnDisk, Device};
  const std::vector<UnitHome> device(5, Device);
  const StepWork once = count.work(homes), thrice = count.work(homes, 3);
  QCOMPARE(thrice.tokens, 3 * once.tokens);
  QCOMPARE(thrice.forward.products, 3 * once.forward.products);
  QCOMPARE(thrice.backward.attention, 3 * once.backward.attention);
  QCOMPARE(thrice.backward.deviceBytes, 3 * once.backward.deviceBytes);
  QCOMPARE(thrice.hostUpdates, once.hostUpdates);
  QCOMPARE(thrice.diskWrites(), once.diskWrites());
  QVERIFY(once.diskWrites() > 0);
  const auto ofTokens = [](const PhaseWork& phase) { return phase.in; };
  QCOMPARE(thrice.forward.in - once.forward.in, 2 * ofTokens(count.work(device).forward));
  QVERIFY(thrice.forward.in > once.forward.in);
}

/// Nothing but tokens: their ids, and the rows of an embedding that so many random tokens use.
void TestStepWork::embeddingRows() {
  const ModelSpec spec = smallModel("llama");
  RunShape shape = shapeOf(Precision::Bf16);
  shape.rows = 8;
  shape.context = 64; // 512 tokens of 97: every row is used
  const MemoryLayout layout(spec, shape);
  const double rows = 97 * (1 - std::pow(1 - 1.0 / 97, 512));
  const double ids = 4 * static_cast<double>(layout.batch().bytes);
  const StepWork device = StepCount(layout).work({{Device, Device, Device, Device, Device}});
  QCOMPARE(device.forward.in, ids);
  QVERIFY(device.backward.out < 1000); // scalars alone
  QCOMPARE(device.hostUpdates, 0.0);
  // A head of which the weights alone are there brings them, and sends its gradients home.
  const StepWork host = StepCount(layout).work({{Device, Device, Device, Device, WeightsOnDevice}});
  const double head = 97 * 64 + 64;
  QVERIFY(std::abs(host.forward.in + host.backward.in - ids - head * 2 - 4 * rows * 64 * 2) < 0.01 * 4 * rows * 64 * 2);
  QVERIFY(std::abs(host.backward.out - head * 4 - 4 * rows * 64 * 4) < 0.02 * 4 * rows * 64 * 4);
  QCOMPARE(host.headProducts, 3 * 2.0 * 97 * 64 * 4 * 512); // of four micro-batches
  QCOMPARE(host.tableUpdates, tableElements(layout));
  QCOMPARE(host.besideHead, host.tableUpdates);
  // The table's gradient is normed; of each row the gradient is added, and it is updated and gathered.
  QVERIFY(std::abs(host.tableTurn - 4 * 97 * 64 - (28 + 12 + 4) * 97 * 64) < 1e-3 * host.tableTurn);
  QCOMPARE(device.tableTurn, 0.0);
  QVERIFY(host.tableUpdates >= 97 * 64 && device.deviceUpdates > host.deviceUpdates + host.tableUpdates);
  // Of a tied model the step's list of rows comes in.
  const ModelSpec tied = smallModel("gpt2");
  const MemoryLayout tiedLayout(tied, shape);
  QCOMPARE(StepCount(tiedLayout).work({{Device, Device, Device, Device, Device}}).forward.in,
           4 * static_cast<double>(tiedLayout.batch().bytes) + 4 * 97);
}

QTEST_GUILESS_MAIN(TestStepWork)
#include "test_step_work.moc"
