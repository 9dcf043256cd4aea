// The planner against every placement there is: on small models all homes of all units with all other settings are
// tried; it may be at most a little slower than the best of them, and refuses exactly when none fits.
#include "plan/planner.h"

#include "base/random.h"
#include "engine/model_presets.h"
#include "plan/placement_search.h"
#include "train/small_models.h"

#include <QTest>
#include <cmath>
#include <fmt/format.h>
#include <regex>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr std::int64_t microBatches = 4;

RunShape baseShape(Precision precision = Precision::Fp32, ClipMode clip = ClipMode::Exact) {
  RunShape shape;
  shape.rows = 2;
  shape.context = 20;
  shape.microBatches = microBatches;
  shape.group = microBatches;
  shape.precision = precision;
  shape.clip = clip;
  shape.headChunk = 13;
  return shape;
}

ModelSpec modelOf(const QString& family, std::int64_t layers, std::int64_t vocabulary) {
  ModelSpec spec = smallModel(family.toStdString(), layers);
  spec.vocabulary = vocabulary;
  return spec;
}

ModelSpec preset(const char* name) {
  const ModelConfig config = valueOrThrow(presetConfig(name));
  return valueOrThrow(modelSpecFromConfig(Json::parse(config.text), name));
}

/// Rates at which every kind of a step's work takes between a tenth of a second and ten seconds.
StepRates randomRates(const ModelSpec& spec, const RunShape& shape, bool cpu, Random& random) {
  const MemoryLayout layout(spec, shape);
  const StepCount count(layout);
  const StepWork host = count.work(std::vector<UnitHome>(spec.layers.size() + 1, UnitHome::Host));
  const StepWork disk = count.work(std::vector<UnitHome>(spec.layers.size() + 1, UnitHome::Disk));
  const auto rate = [&](double work) { return work / std::pow(10.0, 2 * random.uniform() - 1); };
  StepRates rates;
  rates.products = rate(host.forward.products + host.backward.products);
  rates.attention = rates.products * 0.4;
  rates.deviceMemory = rate(10 * (host.forward.deviceBytes + host.backward.deviceBytes));
  rates.in = rate(host.forward.in + host.backward.in);
  rates.out = rates.in * (0.8 + 0.4 * random.uniform());
  rates.both = rates.in * (1.1 + 0.8 * random.uniform());
  rates.update = rate(host.hostUpdates);
  rates.updateBesideCopies = rates.update * (0.6 + 0.4 * random.uniform());
  rates.deviceUpdate = cpu ? rates.update : rates.update * 20;
  rates.diskRead = rate(disk.forward.diskRead + disk.backward.diskRead);
  rates.diskWrite = rates.diskRead * (0.3 + random.uniform());
  rates.sharedCores = cpu;
  rates.threads = 4;
  return rates;
}

struct Option {
  TierTotals totals;
  double seconds = 0;
};

/// All homes of a model's units that the engine has: none on the device for a tied head, whose matrix is among the
/// tables; nor is anything won there by a disk.
std::vector<std::vector<UnitHome>> allHomes(const ModelSpec& spec) {
  std::vector<std::vector<UnitHome>> all{{}};
  for (std::size_t unit = 0; unit <= spec.layers.size(); ++unit) {
    std::vector<std::vector<UnitHome>> longer;
    for (const std::vector<UnitHome>& homes : all)
      for (std::size_t home = 0; home < unitHomes; ++home) {
        if (unit == spec.layers.size() && spec.tiedEmbeddings && home > 1) continue;
        longer.push_back(homes);
        longer.back().push_back(static_cast<UnitHome>(home));
      }
    all = std::move(longer);
  }
  return all;
}

/// Every group size, recompute policy and way of keeping activations.
std::vector<RunShape> allShapes(const RunShape& base) {
  std::vector<RunShape> shapes;
  for (std::int64_t group = 1; group <= base.microBatches; ++group)
    for (const Recompute policy : {Recompute::Full, Recompute::Selective, Recompute::None})
      for (const int slots : {0, 3, 4}) {
        RunShape shape = base;
        shape.group = group;
        shape.recompute = policy;
        shape.offloadActivations = slots > 0;
        shape.activationSlots = slots;
        shapes.push_back(shape);
      }
  return shapes;
}

std::vector<Option> allOptions(const ModelSpec& spec, const std::vector<RunShape>& shapes,
                               const std::vector<std::vector<UnitHome>>& homes, const StepRates& rates, bool split) {
  std::vector<Option> options;
  for (const RunShape& shape : shapes) {
    const MemoryLayout layout(spec, shape);
    const StepCount count(layout);
    for (const std::vector<UnitHome>& placed : homes)
      options.push_back({layout.totals(placed), predictStep(count.work(placed), rates, split).seconds});
  }
  return options;
}

double bestOf(const std::vector<Option>& options, const TierTotals& limits) {
  double best = INFINITY;
  for (const Option& option : options)
    if (option.seconds < best && within(option.totals, limits)) best = option.seconds;
  return best;
}

/// Tiers of up to the sizes of some option, or a little more; no disk every third time.
TierTotals randomLimits(const std::vector<Option>& options, Random& random) {
  TierTotals limits;
  for (const MemoryTier tier : {MemoryTier::Device, MemoryTier::Host, MemoryTier::Disk}) {
    const Bytes bytes = options[random.below(options.size())].totals[tier];
    limits[tier] =
        bytes + static_cast<Bytes>(static_cast<double>(bytes) * (0.1 - 0.6 * random.uniform() * random.uniform()));
  }
  if (random.below(3) == 0) limits[MemoryTier::Disk] = 0;
  return limits;
}

PlanRequest requestOf(const RunShape& shape, const StepRates& rates, const TierTotals& limits) {
  PlanRequest request;
  request.shape = shape;
  request.rates = rates;
  request.deviceLimit = limits[MemoryTier::Device];
  request.hostLimit = limits[MemoryTier::Host];
  request.diskLimit = limits[MemoryTier::Disk];
  return request;
}

/// The number of bytes that a message names, and of which tier.
struct Shortfall {
  MemoryTier tier = MemoryTier::Disk;
  Bytes bytes = -1;
};

Shortfall shortfallOf(const Result<PlannedStep>& planned) {
  if (planned || planned.error().kind != ErrorKind::DoesNotFit) return {};
  const std::string& message = planned.error().message;
  std::smatch found;
  if (!std::regex_search(message, found, std::regex(R"(\((\d+) bytes\))"))) return {};
  return {message.starts_with("device") ? MemoryTier::Device : MemoryTier::Host, std::stoll(found[1])};
}

std::string describe(const PlanRequest& request) {
  return fmt::format("limits {} {} {}", request.deviceLimit, request.hostLimit, request.diskLimit);
}

void addModels() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("layers");
  QTest::addColumn<int>("vocabulary");
  QTest::addColumn<bool>("cpu");
  QTest::addColumn<int>("precision");
  QTest::addColumn<int>("clip");
  const auto row = [](const char* family, int layers, int vocabulary, bool cpu, Precision precision, ClipMode clip) {
    QTest::newRow(fmt::format("{}, {} layers, {} tokens, {}, {}, clip {}", family, layers, vocabulary,
                              cpu ? "CPU" : "GPU", toString(precision), toString(clip))
                      .c_str())
        << QString(family) << layers << vocabulary << cpu << static_cast<int>(precision) << static_cast<int>(clip);
  };
  row("llama", 3, 97, false, Precision::Bf16, ClipMode::Exact);
  row("llama", 3, 2000, true, Precision::Fp32, ClipMode::Exact);
  row("llama", 4, 2000, false, Precision::Bf16, ClipMode::ExactBf16);
  row("llama", 5, 97, false, Precision::Fp32, ClipMode::Off);
  row("llama", 5, 400, false, Precision::Bf16, ClipMode::Exact);
  row("llama", 5, 97, true, Precision::Fp32, ClipMode::ExactBf16);
  row("gpt2", 4, 97, false, Precision::Bf16, ClipMode::Exact);
  row("gpt2", 5, 2000, true, Precision::Bf16, ClipMode::Off);
  row("gpt2", 5, 97, false, Precision::Fp32, ClipMode::Exact);
}

} // namespace

class TestPlanner : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void nearTheBest_data() { addModels(); }
  void nearTheBest();
  void nearTheBestOfManyLayers();
  void namedBytes_data() { addModels(); }
  void namedBytes();
  void namedBytesOfPolicies();
  void requestedSettings();
  void moreMemoryIsNeverSlower();
  void inference_data();
  void inference();
  void severalDevices();
  void largeModel();
  void computeBinds();
};

void TestPlanner::nearTheBest() {
  QFETCH(QString, family);
  QFETCH(int, layers);
  QFETCH(int, vocabulary);
  QFETCH(bool, cpu);
  QFETCH(int, precision);
  QFETCH(int, clip);
  const ModelSpec spec = modelOf(family, layers, vocabulary);
  const RunShape shape = baseShape(static_cast<Precision>(precision), static_cast<ClipMode>(clip));
  const std::vector<std::vector<UnitHome>> homes = allHomes(spec);
  Random random(11, "limits");
  int refused = 0, onDisk = 0, planned = 0;
  for (int machine = 0; machine < 3; ++machine) {
    const StepRates rates = randomRates(spec, shape, cpu, random);
    const bool split = !cpu && machine == 1;
    const std::vector<Option> options = allOptions(spec, allShapes(shape), homes, rates, split);
    for (int i = 0; i < 60; ++i) {
      const TierTotals limits = randomLimits(options, random);
      PlanRequest request = requestOf(shape, rates, limits);
      request.splitUpdates = split;
      const double best = bestOf(options, limits);
      const Result<PlannedStep> found = planStep(spec, request);
      QVERIFY2(found.has_value() == std::isfinite(best), fmt::format("{}: {}, but the best is {} s", describe(request),
                                                                     found ? "planned" : found.error().message, best)
                                                             .c_str());
      if (!found) {
        ++refused;
        QVERIFY(found.error().kind == ErrorKind::DoesNotFit);
        continue;
      }
      ++planned;
      QVERIFY2(found->memory.fits(), describe(request).c_str());
      QVERIFY2(found->time.seconds <= best * 1.02,
               fmt::format("{}: {} s, but the best is {} s", describe(request), found->time.seconds, best).c_str());
      QVERIFY(found->time.seconds >= best * (1 - 1e-9));
      onDisk += found->memory.total(MemoryTier::Disk) > 0 ? 1 : 0;
    }
  }
  QVERIFY(refused > 10 && planned > 60);
  QVERIFY(layers < 5 || onDisk > 0); // with fewer the buffers on the way to the disk take more than it holds
}

/// Too many layers for all homes of all units; but layers are alike, so that all counts of homes are the same as that.
void TestPlanner::nearTheBestOfManyLayers() {
  const std::int64_t layers = 24;
  Random random(12, "limits");
  int onDisk = 0;
  for (const bool tied : {false, true}) {
    const ModelSpec spec = modelOf(tied ? "gpt2" : "llama", layers, 2000);
    RunShape shape = baseShape(Precision::Bf16);
    std::vector<std::vector<UnitHome>> homes;
    for (std::size_t head = 1; head < (tied ? 2 : unitHomes); ++head) {
      HomeCounts counts;
      counts.head = static_cast<UnitHome>(head);
      auto& [host, weights, device, moments, disk] = counts.layers;
      for (weights = 0; weights <= layers; ++weights)
        for (device = 0; weights + device <= layers; ++device)
          for (moments = 0; weights + device + moments <= layers; ++moments)
            for (disk = 0; weights + device + moments + disk <= layers; ++disk) {
              host = layers - weights - device - moments - disk;
              homes.push_back(spreadHomes(counts));
            }
    }
    for (int machine = 0; machine < 4; ++machine) {
      const StepRates rates = randomRates(spec, shape, machine == 3, random);
      const bool split = machine == 2;
      shape.recompute = Recompute::Full;
      const std::vector<Option> options = allOptions(spec, {shape}, homes, rates, split);
      for (int i = 0; i < 40; ++i) {
        const TierTotals limits = randomLimits(options, random);
        PlanRequest request = requestOf(shape, rates, limits);
        request.splitUpdates = split;
        request.recompute = shape.recompute;
        request.group = shape.group;
        request.offloadActivations = false;
        const double best = bestOf(options, limits);
        const Result<PlannedStep> found = planStep(spec, request);
        QVERIFY2(found.has_value() == std::isfinite(best), describe(request).c_str());
        if (!found) continue;
        QVERIFY(found->memory.fits());
        QVERIFY2(found->time.seconds <= best * 1.02,
                 fmt::format("{}: {} s, but the best is {} s", describe(request), found->time.seconds, best).c_str());
        onDisk += found->memory.total(MemoryTier::Disk) > 0 ? 1 : 0;
      }
    }
  }
  QVERIFY(onDisk > 30);
}

/// What a refusal names is accepted as the limit, and one byte less is not.
void TestPlanner::namedBytes() {
  QFETCH(QString, family);
  QFETCH(int, layers);
  QFETCH(int, vocabulary);
  QFETCH(bool, cpu);
  QFETCH(int, precision);
  QFETCH(int, clip);
  const ModelSpec spec = modelOf(family, layers, vocabulary);
  const RunShape shape = baseShape(static_cast<Precision>(precision), static_cast<ClipMode>(clip));
  Random random(13, "limits");
  const StepRates rates = randomRates(spec, shape, cpu, random);
  const std::vector<Option> options =
      allOptions(spec, {allShapes(shape)[0], allShapes(shape)[5]}, allHomes(spec), rates, false);
  int devices = 0, hosts = 0;
  for (int i = 0; i < 60; ++i) {
    PlanRequest request = requestOf(shape, rates, randomLimits(options, random));
    const bool device = i % 2 == 0;
    if (device) {
      request.deviceLimit /= 8;
      request.hostLimit = GiB;
    } else {
      request.hostLimit /= 2;
    }
    const Shortfall named = shortfallOf(planStep(spec, request));
    if (named.bytes < 0 || (!device && named.tier == MemoryTier::Device)) continue;
    QVERIFY(named.tier == (device ? MemoryTier::Device : MemoryTier::Host));
    Bytes& limit = device ? request.deviceLimit : request.hostLimit;
    QVERIFY(named.bytes > limit);
    limit = named.bytes;
    const Result<PlannedStep> enough = planStep(spec, request);
    QVERIFY2(enough.has_value(),
             fmt::format("{}: {}", describe(request), enough ? "" : enough.error().message).c_str());
    QVERIFY(enough->memory.fits());
    --limit;
    const Shortfall again = shortfallOf(planStep(spec, request));
    QVERIFY(again.tier == named.tier);
    QCOMPARE(again.bytes, named.bytes);
    ++(device ? devices : hosts);
    if (device) QCOMPARE(smallestPlan(spec, request).total(MemoryTier::Device), named.bytes);
  }
  QVERIFY(devices > 10);
  QVERIFY(hosts > 5);
}

void TestPlanner::namedBytesOfPolicies() {
  for (const char* family : {"llama", "gpt2"})
    for (const PlacementPolicy policy : {PlacementPolicy::Host, PlacementPolicy::Weights, PlacementPolicy::Device})
      for (const Bytes disk : {Bytes{0}, 2 * MiB}) {
        const ModelSpec spec = modelOf(family, 6, 97);
        PlanRequest request = requestOf(baseShape(), {}, {});
        request.rates.reset();
        request.placement = policy;
        request.diskLimit = disk;
        request.hostLimit = GiB;
        const Shortfall device = shortfallOf(planStep(spec, request));
        QVERIFY(device.tier == MemoryTier::Device && device.bytes > 0);
        request.deviceLimit = device.bytes - 1;
        QVERIFY(!planStep(spec, request));
        request.deviceLimit = device.bytes;
        QVERIFY(planStep(spec, request).has_value());
        request.hostLimit = 1000;
        const Shortfall host = shortfallOf(planStep(spec, request));
        QVERIFY(host.tier == MemoryTier::Host && host.bytes > 0);
        request.hostLimit = host.bytes - 1;
        QVERIFY(!planStep(spec, request));
        request.hostLimit = host.bytes;
        const Result<PlannedStep> least = planStep(spec, request);
        QVERIFY(least.has_value());
        QCOMPARE(least->memory.total(MemoryTier::Host), host.bytes);
      }
}

void TestPlanner::requestedSettings() {
  for (const char* family : {"llama", "gpt2"}) {
    const ModelSpec spec = modelOf(family, 5, 97);
    TierTotals limits;
    limits[MemoryTier::Device] = limits[MemoryTier::Host] = GiB;
    for (const std::int64_t group : {1, 2, 3, 4, 9})
      for (const Recompute policy : {Recompute::Full, Recompute::Selective, Recompute::None})
        for (const bool offload : {false, true})
          for (const PlacementPolicy placement :
               {PlacementPolicy::Auto, PlacementPolicy::Host, PlacementPolicy::Weights, PlacementPolicy::Device}) {
            PlanRequest request = requestOf(baseShape(), {}, limits);
            request.rates.reset();
            request.group = group;
            request.recompute = policy;
            request.offloadActivations = offload;
            request.placement = placement;
            request.shape.slots = 3;
            const Result<PlannedStep> planned = planStep(spec, request);
            QVERIFY(planned.has_value());
            const RunShape& shape = planned->memory.shape;
            QCOMPARE(shape.group, std::min(group, microBatches));
            QVERIFY(shape.recompute == policy && shape.offloadActivations == offload && shape.slots == 3);
            QCOMPARE(shape.activationSlots > 0, offload);
            const std::vector<UnitHome>& homes = planned->memory.homes;
            QCOMPARE(homes.size(), std::size_t{6});
            UnitHome expected = UnitHome::Host;
            if (placement == PlacementPolicy::Weights) expected = UnitHome::WeightsOnDevice;
            if (placement == PlacementPolicy::Device || placement == PlacementPolicy::Auto) expected = UnitHome::Device;
            for (std::size_t unit = 0; unit < 5; ++unit) QVERIFY(homes[unit] == expected);
            const bool tiedDevice = spec.tiedEmbeddings && expected == UnitHome::Device;
            QVERIFY(homes[5] == (tiedDevice ? UnitHome::WeightsOnDevice : expected));
          }
    // Left to the planner: with room for everything nothing is recomputed or offloaded, in one group.
    PlanRequest free = requestOf(baseShape(), {}, limits);
    free.rates.reset();
    const Result<PlannedStep> planned = planStep(spec, free);
    QVERIFY(planned.has_value());
    QVERIFY(planned->memory.shape.recompute == Recompute::None && !planned->memory.shape.offloadActivations);
    // The same plan is predicted the same way.
    const PlannedStep again = predictPlan(spec, free, planned->memory);
    QCOMPARE(again.time.seconds, planned->time.seconds);
    QCOMPARE(again.computeBindsFrom, planned->computeBindsFrom);
  }
}

void TestPlanner::moreMemoryIsNeverSlower() {
  Random random(14, "limits");
  int faster = 0;
  for (const auto& [family, layers] : {std::pair{"llama", 5}, {"gpt2", 5}, {"llama", 40}}) {
    const ModelSpec spec = modelOf(family, layers, 400);
    const RunShape shape = baseShape(Precision::Bf16);
    TierTotals all;
    for (const UnitHome home : {UnitHome::Host, UnitHome::Device, UnitHome::Disk}) {
      const TierTotals totals =
          MemoryLayout(spec, shape).totals(std::vector<UnitHome>(static_cast<std::size_t>(layers) + 1, home));
      for (std::size_t tier = 0; tier < memoryTiers; ++tier)
        all.bytes[tier] = std::max(all.bytes[tier], totals.bytes[tier]);
    }
    for (int i = 0; i < 80; ++i) {
      const StepRates rates = randomRates(spec, shape, i % 3 == 0, random);
      TierTotals limits;
      for (std::size_t tier = 0; tier < memoryTiers; ++tier)
        limits.bytes[tier] = static_cast<Bytes>(static_cast<double>(all.bytes[tier]) * random.uniform());
      const Result<PlannedStep> before = planStep(spec, requestOf(shape, rates, limits));
      const std::size_t grown = random.below(memoryTiers);
      limits.bytes[grown] += static_cast<Bytes>(static_cast<double>(all.bytes[grown]) * random.uniform());
      const Result<PlannedStep> after = planStep(spec, requestOf(shape, rates, limits));
      if (!before) continue;
      QVERIFY(after.has_value());
      // What is kept small is the time with a little of what the disk does.
      QVERIFY2(after->time.cost() <= before->time.cost() * (layers > 12 ? 1.02 : 1.0011),
               fmt::format("{} layers: {} s after {} s", layers, after->time.seconds, before->time.seconds).c_str());
      faster += after->time.seconds < before->time.seconds * 0.99 ? 1 : 0;
    }
  }
  QVERIFY(faster > 10);
}

void TestPlanner::inference_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("vocabulary");
  QTest::newRow("llama") << "llama" << 97;
  QTest::newRow("llama, large head") << "llama" << 2000;
  QTest::newRow("gpt2") << "gpt2" << 97;
}

/// Weights alone: where nothing is trained, what is on the device needs no room on the host.
void TestPlanner::inference() {
  QFETCH(QString, family);
  QFETCH(int, vocabulary);
  const ModelSpec spec = modelOf(family, 5, vocabulary);
  PlanRequest request;
  request.shape = baseShape();
  request.shape.training = false;
  request.shape.microBatches = 1;
  RunShape shape = request.shape;
  shape.group = 1;
  const MemoryLayout layout(spec, shape);
  std::vector<Option> options;
  for (const std::vector<UnitHome>& homes : allHomes(spec))
    if (std::none_of(homes.begin(), homes.end(), onDisk)) options.push_back({layout.totals(homes), 1});
  Random random(15, "limits");
  int refused = 0, planned = 0;
  for (int i = 0; i < 200; ++i) {
    TierTotals limits = randomLimits(options, random);
    limits[MemoryTier::Disk] = 0;
    request.deviceLimit = limits[MemoryTier::Device];
    request.hostLimit = limits[MemoryTier::Host];
    const Result<PlannedStep> found = planStep(spec, request);
    QVERIFY2(found.has_value() == std::isfinite(bestOf(options, limits)), describe(request).c_str());
    if (found) {
      ++planned;
      QVERIFY(found->memory.fits());
      continue;
    }
    ++refused;
    const Shortfall named = shortfallOf(found);
    QVERIFY(named.bytes > 0);
    (named.tier == MemoryTier::Device ? limits[MemoryTier::Device] : limits[MemoryTier::Host]) = named.bytes;
    if (named.tier == MemoryTier::Device) request.hostLimit = GiB;
    (named.tier == MemoryTier::Device ? request.deviceLimit : request.hostLimit) = named.bytes;
    QVERIFY(planStep(spec, request).has_value());
    --(named.tier == MemoryTier::Device ? request.deviceLimit : request.hostLimit);
    QVERIFY(!planStep(spec, request).has_value());
  }
  QVERIFY(refused > 10 && planned > 10);
}

/// Devices that share the state on the host have nothing of it alone.
void TestPlanner::severalDevices() {
  const ModelSpec spec = modelOf("llama", 5, 97);
  TierTotals limits;
  limits[MemoryTier::Device] = limits[MemoryTier::Host] = GiB;
  PlanRequest request = requestOf(baseShape(), {}, limits);
  request.rates.reset();
  const Result<PlannedStep> one = planStep(spec, request);
  request.shape.devices = 2;
  const Result<PlannedStep> two = planStep(spec, request);
  QVERIFY(one.has_value() && two.has_value());
  for (const UnitHome home : one->memory.homes) QVERIFY(home == UnitHome::Device);
  for (const UnitHome home : two->memory.homes) QVERIFY(home == UnitHome::WeightsOnDevice);
}

/// 405 billion parameters on two TB of RAM and more disk: some of it is on disk, and no more than need be.
void TestPlanner::largeModel() {
  const ModelSpec spec = preset("llama-3-405b");
  RunShape shape = baseShape(Precision::Bf16);
  shape.rows = 1;
  shape.context = 4096;
  shape.microBatches = 64;
  shape.headChunk = 1024;
  StepRates rates;
  rates.products = 800e12;
  rates.attention = 400e12;
  rates.deviceMemory = 4e12;
  rates.in = rates.out = 55e9;
  rates.both = 97e9;
  rates.update = 4.7e9;
  rates.updateBesideCopies = 3.3e9;
  rates.deviceUpdate = 1.4e11;
  rates.diskRead = 12e9;
  rates.diskWrite = 8e9;
  TierTotals limits;
  limits[MemoryTier::Device] = 140 * GiB;
  limits[MemoryTier::Host] = 2000 * GiB;
  limits[MemoryTier::Disk] = 8000 * GiB;
  PlanRequest request = requestOf(shape, rates, limits);
  request.splitUpdates = true;
  const Result<PlannedStep> planned = planStep(spec, request);
  QVERIFY(planned.has_value());
  QVERIFY(planned->memory.fits());
  const Bytes disk = planned->memory.total(MemoryTier::Disk);
  QVERIFY(disk > 4000 * GiB && disk < 6000 * GiB);
  QVERIFY(planned->memory.total(MemoryTier::Host) > 1900 * GiB);
  request.diskLimit = 0;
  const Shortfall named = shortfallOf(planStep(spec, request));
  QVERIFY(named.tier == MemoryTier::Host && named.bytes > 5000 * GiB);
}

/// From the number that is named on compute binds, and not below it.
void TestPlanner::computeBinds() {
  const ModelSpec spec = modelOf("llama", 5, 97);
  RunShape shape = baseShape(Precision::Bf16);
  TierTotals limits;
  limits[MemoryTier::Device] = limits[MemoryTier::Host] = GiB;
  StepRates rates;
  rates.products = rates.attention = 1e11;
  rates.deviceMemory = 1e12;
  rates.in = rates.out = 2.5e8;
  rates.both = 5e8;
  rates.update = rates.updateBesideCopies = 1e8;
  rates.deviceUpdate = 1e12;
  PlanRequest request = requestOf(shape, rates, limits);
  request.placement = PlacementPolicy::Host;
  const Result<PlannedStep> planned = planStep(spec, request);
  QVERIFY(planned.has_value());
  QVERIFY(!planned->time.computeBinds && planned->computeBindsFrom > planned->work.tokens);
  const MemoryLayout layout(spec, planned->memory.shape);
  const StepCount count(layout);
  const double batches = planned->computeBindsFrom / planned->work.tokens;
  QVERIFY(predictStep(count.work(planned->memory.homes, batches * 1.001), rates, false).computeBinds);
  QVERIFY(!predictStep(count.work(planned->memory.homes, batches * 0.999), rates, false).computeBinds);
}

QTEST_GUILESS_MAIN(TestPlanner)
#include "test_planner.moc"
