// Placement, schedule, slots, threads, recompute and overlap may change how fast a step is and what memory it takes,
// never a bit of what it computes.
#include "train/small_models.h"
#include "train/training_world.h"

#include <QTest>
#include <map>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr std::int64_t microBatches = 4;
constexpr std::int64_t rows = 2;
constexpr std::int64_t context = 20;
constexpr int steps = 3;

struct Trained {
  std::vector<double> numbers; ///< loss, norm and clip factor of each step, then the loss of a forward alone
  StateBits state;
};

/// Steps with a known next batch and one without.
Trained train(const ModelSpec& spec, const Setting& setting, QString* problem) {
  World world(spec, setting);
  Trained trained;
  std::vector<std::vector<MicroBatch>> batches;
  for (int s = 0; s < steps; ++s)
    batches.push_back(unevenBatches(spec.vocabulary, microBatches, rows, context, static_cast<std::uint64_t>(s) + 1));
  for (std::size_t s = 0; s < batches.size(); ++s) {
    StepInput input{batches[s], {}, 0.01};
    if (s + 1 < batches.size()) input.next = batches[s + 1];
    const auto outcome = world.trainer().step(input);
    if (!outcome) {
      *problem = QString::fromStdString(outcome.error().message);
      return trained;
    }
    if (outcome->discarded) *problem = "a step was discarded";
    trained.numbers.insert(trained.numbers.end(), {outcome->loss, outcome->gradNorm, outcome->clipFactor});
  }
  trained.state = world.state();
  trained.numbers.push_back(world.runner().loss(batches[0][0]).sum);
  const MemoryPlan& plan = world.runner().plan();
  if (world.device().memoryUse(MemorySpace::Device).peak != plan.total(MemoryTier::Device) ||
      world.device().memoryUse(MemorySpace::Host).peak != plan.total(MemoryTier::Host))
    *problem = "memory that was used is not what was planned";
  return trained;
}

Setting baseSetting(Precision precision, ClipMode clip) {
  Setting setting;
  setting.shape.rows = rows;
  setting.shape.context = context;
  setting.shape.microBatches = microBatches;
  setting.shape.group = microBatches;
  setting.shape.precision = precision;
  setting.shape.clip = clip;
  setting.shape.headChunk = 13; // an uneven last chunk
  return setting;
}

struct Variant {
  std::string name;
  std::function<void(Setting&)> apply;
};

void offload(Setting& setting, int slots) {
  setting.shape.offloadActivations = true;
  setting.shape.activationSlots = slots;
}

std::vector<Variant> variants() {
  using enum UnitHome;
  std::vector<Variant> all;
  const auto add = [&](std::string name, std::function<void(Setting&)> apply) {
    all.push_back({std::move(name), std::move(apply)});
  };
  add("again", [](Setting&) {});
  add("weights on the device", [](Setting& s) { s.homes.assign(5, WeightsOnDevice); });
  add("all on the device", [](Setting& s) { s.homes.assign(5, Device); });
  add("mixed homes", [](Setting& s) { s.homes = {Host, Device, WeightsOnDevice, Host, Device}; });
  add("one streamed layer", [=](Setting& s) { s.homes = {Device, WeightsOnDevice, Host, Device, Host}; });
  add("moments on disk", [](Setting& s) { s.homes.assign(5, MomentsOnDisk); });
  add("all on disk", [](Setting& s) { s.homes.assign(5, Disk); });
  for (const std::int64_t g : {1, 3})
    add(fmt::format("all on disk, groups of {}", g), [=](Setting& s) {
      s.homes.assign(5, Disk);
      s.shape.group = g;
    });
  add("all on disk, without overlap", [](Setting& s) {
    s.homes.assign(5, Disk);
    s.overlap = false;
  });
  add("all on disk, offloaded, three slots, 5 threads", [](Setting& s) {
    s.homes.assign(5, Disk);
    offload(s, 3);
    s.shape.slots = 3;
    s.threads = 5;
  });
  add("every home, head on disk, groups of 2", [](Setting& s) {
    s.homes = {Disk, WeightsOnDevice, MomentsOnDisk, Host, Disk};
    s.shape.group = 2;
    s.shape.heldLayers = 1;
  });
  add("every home, head's moments on disk, a part updated on the device", [](Setting& s) {
    s.homes = {Device, Disk, Host, Disk, MomentsOnDisk};
    s.shape.updateSlots = 2;
    s.deviceUpdateShare = 0.4;
  });
  for (const std::int64_t g : {1, 2, 3}) add(fmt::format("groups of {}", g), [=](Setting& s) { s.shape.group = g; });
  add("mixed homes, groups of 3", [=](Setting& s) {
    s.homes = {Device, Host, Host, WeightsOnDevice, Device};
    s.shape.group = 3;
  });
  add("three slots", [](Setting& s) { s.shape.slots = 3; });
  for (const int threads : {1, 3, 5}) add(fmt::format("{} threads", threads), [=](Setting& s) { s.threads = threads; });
  for (const auto& [share, slots] : {std::pair{0.01, 1}, {0.37, 2}, {0.5, 3}, {1.0, 3}}) {
    const auto split = [share = share, slots = slots](Setting& s) {
      s.shape.updateSlots = slots;
      s.deviceUpdateShare = share;
    };
    add(fmt::format("{} updated on the device, {} slots", share, slots), split);
    add(fmt::format("{} updated on the device, {} slots, mixed homes, 5 threads", share, slots), [=](Setting& s) {
      split(s);
      s.homes = {Host, Device, WeightsOnDevice, Host, WeightsOnDevice};
      s.threads = 5;
    });
  }
  for (const std::int64_t held : {1, 2, 4}) // with clipping off
    add(fmt::format("{} layers held", held), [=](Setting& s) { s.shape.heldLayers = held; });
  add("2 layers held, mixed homes, groups of 2", [](Setting& s) {
    s.shape.heldLayers = 2;
    s.shape.group = 2;
    s.homes = {Host, Device, WeightsOnDevice, Host, Host};
  });
  add("recompute selective", [](Setting& s) { s.shape.recompute = Recompute::Selective; });
  add("recompute none", [](Setting& s) { s.shape.recompute = Recompute::None; });
  add("without overlap", [](Setting& s) { s.overlap = false; });
  for (const Recompute policy : {Recompute::Full, Recompute::Selective, Recompute::None})
    for (const int slots : {3, 4})
      add(fmt::format("offloaded, {} slots, recompute {}", slots, toString(policy)), [=](Setting& s) {
        offload(s, slots);
        s.shape.recompute = policy;
      });
  add("offloaded, groups of 1", [](Setting& s) {
    offload(s, 3);
    s.shape.group = 1;
  });
  add("offloaded, groups of 3, three slots, 5 threads", [](Setting& s) {
    offload(s, 4);
    s.shape.group = 3;
    s.shape.slots = 3;
    s.threads = 5;
    s.shape.recompute = Recompute::None;
  });
  for (std::uint64_t seed = 1; seed <= 12; ++seed)
    add(fmt::format("drawn {}", seed), [=](Setting& s) {
      Random random(seed, "variant");
      for (int unit = 0; unit < 5; ++unit) {
        const UnitHome homes[] = {Host, WeightsOnDevice, Device, MomentsOnDisk, Disk};
        s.homes.push_back(homes[random.below(seed <= 6 ? 3 : 5)]);
      }
      s.shape.group = 1 + static_cast<std::int64_t>(random.below(4));
      s.shape.slots = 2 + static_cast<int>(random.below(2));
      s.shape.recompute = static_cast<Recompute>(random.below(3));
      if (random.below(2)) offload(s, 3 + static_cast<int>(random.below(2)));
      s.threads = 1 + static_cast<int>(random.below(4));
      s.overlap = random.below(4) != 0;
      s.shape.heldLayers = static_cast<std::int64_t>(random.below(5));
      if (random.below(2)) {
        s.shape.updateSlots = 2 + static_cast<int>(random.below(2));
        s.deviceUpdateShare = random.uniform();
      }
    });
  return all;
}

} // namespace

class TestTrainerBits : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void agree_data();
  void agree();
  void clippingModesDiffer();
  void tf32();
};

void TestTrainerBits::agree_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("precision");
  QTest::addColumn<int>("clip");
  for (const char* family : {"llama", "qwen3", "gpt2", "olmo2", "gemma2", "qwen3_moe"})
    for (const Precision precision : {Precision::Fp32, Precision::Bf16})
      for (const ClipMode clip : {ClipMode::Exact, ClipMode::ExactBf16, ClipMode::Off})
        QTest::newRow(fmt::format("{} {} clip {}", family, toString(precision), toString(clip)).c_str())
            << QString(family) << static_cast<int>(precision) << static_cast<int>(clip);
}

void TestTrainerBits::agree() {
  QFETCH(QString, family);
  QFETCH(int, precision);
  QFETCH(int, clip);
  const ModelSpec spec = smallModel(family.toStdString());
  const Setting base = baseSetting(static_cast<Precision>(precision), static_cast<ClipMode>(clip));
  QString problem;
  const Trained reference = train(spec, base, &problem);
  QVERIFY2(problem.isEmpty(), qPrintable(problem));
  QVERIFY(reference.numbers[0] > 0 && reference.numbers[1] > 0);
  if (base.shape.clip != ClipMode::Off) QVERIFY(reference.numbers[2] < 1); // clipping takes part
  for (const Variant& variant : variants()) {
    Setting setting = base;
    variant.apply(setting);
    const Trained trained = train(spec, setting, &problem);
    QVERIFY2(problem.isEmpty(), qPrintable(QString::fromStdString(variant.name) + ": " + problem));
    for (std::size_t i = 0; i < reference.numbers.size(); ++i)
      QVERIFY2(
          std::memcmp(&reference.numbers[i], &trained.numbers[i], sizeof(double)) == 0,
          fmt::format("{}: number {} is {}, expected {}", variant.name, i, trained.numbers[i], reference.numbers[i])
              .c_str());
    const std::string difference = reference.state.difference(trained.state);
    QVERIFY2(difference.empty(), fmt::format("{}: {}", variant.name, difference).c_str());
  }
}

/// The comparison above can fail: other arithmetic gives other bits.
void TestTrainerBits::clippingModesDiffer() {
  const ModelSpec spec = smallModel("llama");
  QString problem;
  const Trained exact = train(spec, baseSetting(Precision::Fp32, ClipMode::Exact), &problem);
  const Trained narrow = train(spec, baseSetting(Precision::Fp32, ClipMode::ExactBf16), &problem);
  const Trained off = train(spec, baseSetting(Precision::Fp32, ClipMode::Off), &problem);
  QVERIFY2(problem.isEmpty(), qPrintable(problem));
  QVERIFY(!exact.state.difference(narrow.state).empty());
  QVERIFY(!exact.state.difference(off.state).empty());
  QCOMPARE(exact.numbers[0], off.numbers[0]);
  QCOMPARE(exact.numbers[1], narrow.numbers[1]);
}

/// Where the device has no units for it, tf32 is fp32 to the bit; where it has, placement changes nothing either.
void TestTrainerBits::tf32() {
  const ModelSpec spec = smallModel("llama");
  QString problem;
  const Trained exact = train(spec, baseSetting(Precision::Fp32, ClipMode::Exact), &problem);
  Setting setting = baseSetting(Precision::Tf32, ClipMode::Exact);
  const Trained rounded = train(spec, setting, &problem);
  setting.homes.assign(5, UnitHome::Device);
  const Trained onDevice = train(spec, setting, &problem);
  QVERIFY2(problem.isEmpty(), qPrintable(problem));
  QVERIFY(rounded.state.difference(onDevice.state).empty());
  QVERIFY(std::abs(rounded.numbers[0] - exact.numbers[0]) < 1e-3 * exact.numbers[0]);
  QCOMPARE(rounded.state.difference(exact.state).empty(), testDeviceName() == "cpu");
}

QTEST_GUILESS_MAIN(TestTrainerBits)
#include "test_trainer_bits.moc"
