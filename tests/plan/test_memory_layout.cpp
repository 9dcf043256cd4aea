// The bytes that are added up from counts of layers are those of the list that the engine allocates; and they are the
// published figures: 12 bytes of state a parameter, 16, 14 or 12 at the peak.
#include "plan/memory_layout.h"

#include "base/random.h"
#include "engine/model_presets.h"
#include "train/small_models.h"

#include <QTest>
#include <fmt/format.h>
#include <set>

using namespace millrace;
using namespace millrace::test;

namespace {

RunShape shapeOf(Precision precision, ClipMode clip) {
  RunShape shape;
  shape.rows = 2;
  shape.context = 20;
  shape.microBatches = 4;
  shape.group = 4;
  shape.precision = precision;
  shape.clip = clip;
  shape.headChunk = 13;
  return shape;
}

ModelSpec preset(const char* name) {
  const ModelConfig config = valueOrThrow(presetConfig(name));
  return valueOrThrow(modelSpecFromConfig(Json::parse(config.text), name));
}

/// State of blocks: what is there whether or not a step runs.
bool isState(const Allocation& allocation) {
  return allocation.category == MemoryCategory::Weights || allocation.category == MemoryCategory::Moments;
}

} // namespace

class TestMemoryLayout : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void totalsArePlans_data();
  void totalsArePlans();
  void stateBytes_data();
  void stateBytes();
  void waitingBytes_data();
  void waitingBytes();
  void presets_data();
  void presets();
  void streamedHomes();
};

void TestMemoryLayout::totalsArePlans_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("precision");
  QTest::addColumn<int>("clip");
  for (const char* family : {"llama", "qwen3", "gpt2", "mistral", "olmo2", "gemma2", "mixtral", "qwen3_moe"})
    for (const Precision precision : {Precision::Fp32, Precision::Bf16})
      for (const ClipMode clip : {ClipMode::Exact, ClipMode::ExactBf16, ClipMode::Off})
        QTest::newRow(fmt::format("{} {} clip {}", family, toString(precision), toString(clip)).c_str())
            << QString(family) << static_cast<int>(precision) << static_cast<int>(clip);
}

/// Of random homes and shapes; the plan's allocations have names of their own, and every layer the bytes of its home.
void TestMemoryLayout::totalsArePlans() {
  QFETCH(QString, family);
  QFETCH(int, precision);
  QFETCH(int, clip);
  Random random(7, family.toStdString());
  std::array<int, unitHomes> seen{};
  for (int i = 0; i < 60; ++i) {
    const auto layers = 1 + static_cast<std::int64_t>(random.below(6));
    const ModelSpec spec = smallModel(family.toStdString(), layers);
    RunShape shape = shapeOf(static_cast<Precision>(precision), static_cast<ClipMode>(clip));
    shape.group = 1 + static_cast<std::int64_t>(random.below(4));
    shape.slots = 2 + static_cast<int>(random.below(2));
    shape.recompute = static_cast<Recompute>(random.below(3));
    shape.offloadActivations = random.below(2) == 0;
    shape.activationSlots = shape.offloadActivations ? 3 + static_cast<int>(random.below(2)) : 0;
    shape.heldLayers = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(layers) + 1));
    shape.devices = 1 + static_cast<int>(random.below(2));
    shape.training = random.below(5) != 0;
    if (!shape.training) {
      shape.cacheTokens = 32;
      shape.group = 1;
    }
    std::vector<UnitHome> homes;
    for (std::int64_t unit = 0; unit <= layers; ++unit) {
      homes.push_back(static_cast<UnitHome>(random.below(unitHomes)));
      ++seen[static_cast<std::size_t>(homes.back())];
    }
    const MemoryLayout layout(spec, shape);
    const MemoryPlan plan = layout.plan(homes);
    const TierTotals totals = layout.totals(homes);
    for (const MemoryTier tier : {MemoryTier::Device, MemoryTier::Host, MemoryTier::Disk})
      QCOMPARE(totals[tier], plan.total(tier));
    std::set<std::string> names;
    for (const Allocation& allocation : plan.allocations) {
      QVERIFY2(names.insert(allocation.name).second, allocation.name.c_str());
      QVERIFY(allocation.bytes > 0 && allocation.bytes % operandAlignment == 0);
    }
    QVERIFY(plan.homes == homes);
    if (!shape.training || shape.clip != ClipMode::Off) continue;
    const HomeCounts counts = layout.counts(homes);
    QCOMPARE(counts.held, std::min(shape.heldLayers, counts[UnitHome::Host] + counts[UnitHome::WeightsOnDevice]));
    std::int64_t held = 0;
    for (const BlockSpec& block : layout.blocks())
      if (block.kind == BlockKind::Mlp && plan.find(allocation_name::plane(Plane::Gradient, block))) ++held;
    QCOMPARE(held, counts.held);
  }
  for (const int times : seen) QVERIFY(times > 10);
}

void TestMemoryLayout::stateBytes_data() {
  QTest::addColumn<int>("precision");
  QTest::addColumn<int>("home");
  for (const Precision precision : {Precision::Fp32, Precision::Bf16})
    for (std::size_t home = 0; home < unitHomes; ++home)
      QTest::newRow(fmt::format("{} {}", toString(precision), toString(static_cast<UnitHome>(home))).c_str())
          << static_cast<int>(precision) << static_cast<int>(home);
}

/// 12 bytes an element of every block, wherever its unit lives, each plane in the tier that the home says.
void TestMemoryLayout::stateBytes() {
  QFETCH(int, precision);
  QFETCH(int, home);
  for (const char* family : {"llama", "qwen3", "gpt2", "gemma2", "qwen3_moe"}) {
    const ModelSpec spec = smallModel(family);
    const RunShape shape = shapeOf(static_cast<Precision>(precision), ClipMode::Exact);
    const auto where = static_cast<UnitHome>(home);
    const MemoryLayout layout(spec, shape);
    const MemoryPlan plan = layout.plan(std::vector<UnitHome>(5, where));
    using enum UnitHome;
    for (const BlockSpec& block : layout.blocks()) {
      Bytes state = 0;
      const bool table = block.kind == BlockKind::Embedding || block.kind == BlockKind::Positions;
      for (const Plane plane : {Plane::Weights, Plane::Remainder, Plane::Moment1, Plane::Moment2}) {
        const Allocation* allocation = plan.find(allocation_name::plane(plane, block));
        QCOMPARE(allocation == nullptr, plane == Plane::Remainder && shape.precision == Precision::Fp32);
        if (!allocation) continue;
        QVERIFY(isState(*allocation));
        state += allocation->bytes;
        MemoryTier expected = MemoryTier::Host;
        if (where == Device) expected = MemoryTier::Device;
        if (!table && (where == Disk || (where == MomentsOnDisk && plane != Plane::Weights)))
          expected = MemoryTier::Disk;
        QVERIFY(allocation->tier == expected);
      }
      QCOMPARE(state, 12 * block.elements);
    }
    Bytes all = 0, elements = 0;
    for (const Allocation& allocation : plan.allocations) all += isState(allocation) ? allocation.bytes : 0;
    for (const BlockSpec& block : layout.blocks()) elements += block.elements;
    QCOMPARE(all, 12 * elements); // and nothing else is state: residents and slots have categories of their own
  }
}

void TestMemoryLayout::waitingBytes_data() {
  QTest::addColumn<int>("clip");
  QTest::addColumn<int>("bytes");
  QTest::newRow("exact") << static_cast<int>(ClipMode::Exact) << 4;
  QTest::newRow("exact-bf16") << static_cast<int>(ClipMode::ExactBf16) << 2;
  QTest::newRow("off") << static_cast<int>(ClipMode::Off) << 0;
}

void TestMemoryLayout::waitingBytes() {
  QFETCH(int, clip);
  QFETCH(int, bytes);
  const ModelSpec spec = smallModel("llama");
  RunShape shape = shapeOf(Precision::Bf16, static_cast<ClipMode>(clip));
  using enum UnitHome;
  const std::vector<UnitHome> homes{Host, WeightsOnDevice, MomentsOnDisk, Disk, Host};
  const MemoryLayout layout(spec, shape);
  const MemoryPlan plan = layout.plan(homes);
  const auto bytesOf = [](const MemoryPlan& of, Plane plane, const BlockSpec& block) {
    const Allocation* allocation = of.find(allocation_name::plane(plane, block));
    return allocation ? allocation->bytes : 0;
  };
  for (const BlockSpec& block : layout.blocks()) {
    const bool layer = block.layer >= 0;
    QCOMPARE(bytesOf(plan, Plane::Gradient, block), (layer ? bytes : 4) * block.elements);
    QCOMPARE(bytesOf(plan, Plane::Partial, block), Bytes{0}); // one group: no sums wait between groups
    if (layer && bytes > 0)
      QVERIFY(plan.find(allocation_name::plane(Plane::Gradient, block))->tier ==
              (homes[static_cast<std::size_t>(block.layer)] == Disk ? MemoryTier::Disk : MemoryTier::Host));
  }
  // Between groups fp32 sums wait, where the gradient's own place is not fp32.
  shape.group = 2;
  const MemoryPlan grouped = MemoryLayout(spec, shape).plan(homes);
  for (const BlockSpec& block : layout.blocks())
    QCOMPARE(bytesOf(grouped, Plane::Partial, block), (block.layer >= 0 && bytes < 4 ? 4 : 0) * block.elements);
  // On the device gradients need no place to wait but the accumulators.
  const MemoryPlan resident = layout.plan(std::vector<UnitHome>(5, Device));
  for (const BlockSpec& block : layout.blocks())
    if (block.layer >= 0) QCOMPARE(bytesOf(resident, Plane::Gradient, block), Bytes{0});
}

void TestMemoryLayout::presets_data() {
  QTest::addColumn<QString>("name");
  QTest::addColumn<double>("gigabytes");
  QTest::newRow("13B") << "llama-2-13b" << 156.0;
  QTest::newRow("70B") << "llama-2-70b" << 828.0;
  QTest::newRow("101B") << "llama-101b" << 1212.0;
}

/// The known answers: 12 bytes a parameter at rest; while gradients wait 16, 14 (less the few that wait in fp32)
/// and 12.
void TestMemoryLayout::presets() {
  QFETCH(QString, name);
  QFETCH(double, gigabytes);
  const ModelSpec spec = preset(qPrintable(name));
  const auto parameters = static_cast<double>(parameterCount(spec));
  for (const Precision precision : {Precision::Fp32, Precision::Bf16}) {
    for (const auto& [clip, peak] : {std::pair{ClipMode::Exact, 16}, {ClipMode::ExactBf16, 14}, {ClipMode::Off, 12}}) {
      const MemoryLayout layout(spec, shapeOf(precision, clip));
      const MemoryPlan plan = layout.plan(std::vector<UnitHome>(spec.layers.size() + 1, UnitHome::Host));
      double padding = 0, tables = 0;
      for (const BlockSpec& block : layout.blocks()) {
        padding += static_cast<double>(block.elements - block.parameterCount());
        if (block.layer < 0) tables += static_cast<double>(block.elements);
      }
      QVERIFY(padding < parameters * 1e-5);
      const auto state = static_cast<double>(plan.total(MemoryTier::Host, MemoryCategory::Weights) +
                                             plan.total(MemoryTier::Host, MemoryCategory::Moments));
      QCOMPARE(state, 12 * (parameters + padding));
      QVERIFY2(std::abs(state / 1e9 - gigabytes) < gigabytes * 0.005, fmt::format("{} GB", state / 1e9).c_str());
      const auto waiting = static_cast<double>(plan.total(MemoryTier::Host, MemoryCategory::WaitingGradients));
      QCOMPARE(waiting, (peak - 12) * (parameters + padding) + (16 - peak) * tables);
    }
  }
}

/// Which homes take slots, residents and buffers: counted by name.
void TestMemoryLayout::streamedHomes() {
  const ModelSpec spec = smallModel("llama", 5);
  RunShape shape = shapeOf(Precision::Bf16, ClipMode::Exact);
  shape.slots = 3;
  const MemoryLayout layout(spec, shape);
  const Bytes layer = layout.units()[0].elements;
  const Bytes head = layout.units()[5].elements;
  using enum UnitHome;
  const auto category = [&](const std::vector<UnitHome>& homes, MemoryTier tier, MemoryCategory which) {
    return layout.plan(homes).total(tier, which);
  };
  const std::vector<UnitHome> host(6, Host);
  QCOMPARE(category(host, MemoryTier::Device, MemoryCategory::WeightSlots), 3 * 2 * layer + 2 * head);
  QCOMPARE(category(host, MemoryTier::Device, MemoryCategory::GradientSlots), 2 * 4 * layer + 4 * head);
  const std::vector<UnitHome> mixed{Device, WeightsOnDevice, Device, Disk, MomentsOnDisk, Device};
  QCOMPARE(category(mixed, MemoryTier::Device, MemoryCategory::WeightSlots), 2 * 2 * layer);
  QCOMPARE(category(mixed, MemoryTier::Device, MemoryCategory::ResidentWeights), 2 * layer);
  const Bytes table = layout.blocks()[*findBlock(layout.blocks(), BlockKind::Embedding)].elements; // with the head
  QCOMPARE(category(mixed, MemoryTier::Device, MemoryCategory::GradientSlots),
           (2 + 2) * 4 * layer + 4 * (head + table));
  QCOMPARE(category(mixed, MemoryTier::Device, MemoryCategory::Moments), 2 * 8 * layer + 8 * (head + table));
  QCOMPARE(category(mixed, MemoryTier::Disk, MemoryCategory::Moments), 2 * 8 * layer);
  QCOMPARE(category(mixed, MemoryTier::Disk, MemoryCategory::Weights), (4 + 2) * layer);
  QCOMPARE(category(mixed, MemoryTier::Disk, MemoryCategory::WaitingGradients), 4 * layer);
  // Blocks pass in pieces of whole pages, of so many elements. One layer streams from disk: two buffers for the weights
  // of its blocks and two for their gradients; two layers are updated there, and a buffer holds all planes of any
  // block.
  const auto pieceOf = [&](std::size_t unit) {
    std::int64_t largest = 0;
    for (const std::size_t block : layout.units()[unit].blocks)
      largest = std::max(largest, layout.blocks()[block].elements);
    return alignUp(largest, 2048);
  };
  const Bytes without = category({Host, Host, Host, Host, Host, Device}, MemoryTier::Host, MemoryCategory::Staging);
  QCOMPARE(category(mixed, MemoryTier::Host, MemoryCategory::Staging) - without, (2 * 2 + 2 * 4 + 3 * 16) * pieceOf(0));
  const std::vector<UnitHome> disk(6, Disk);
  const Bytes staged = category(host, MemoryTier::Host, MemoryCategory::Staging);
  QCOMPARE(category(disk, MemoryTier::Host, MemoryCategory::Staging) - staged,
           3 * (2 + 4 + 16) * std::max(pieceOf(0), pieceOf(5)));
}

QTEST_GUILESS_MAIN(TestMemoryLayout)
#include "test_memory_layout.moc"
