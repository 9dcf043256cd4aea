// The planner against every placement there is: on small models all homes of all units with all other settings are
// tried; it may be at most a little slower than the best of them, and refuses exactly when none fits.
#include "plan/planner_cases.h"

using namespace millrace;
using namespace millrace::test;

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
  void heldGradients();
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
    for (std::size_t head = 1; head < unitHomes; ++head) {
      if (tied && millrace::onDisk(static_cast<UnitHome>(head))) continue;
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
            QVERIFY(homes[5] == expected);
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

/// Where AdamW on the host takes longer than backward some gradients wait for forward, if that is wanted.
void TestPlanner::heldGradients() {
  const ModelSpec spec = modelOf("llama", 5, 97);
  const RunShape shape = baseShape(Precision::Fp32, ClipMode::Off);
  Random random(21, "rates");
  int held = 0, faster = 0;
  for (int machine = 0; machine < 40; ++machine) {
    TierTotals limits;
    for (const MemoryTier tier : {MemoryTier::Device, MemoryTier::Host}) limits[tier] = GiB;
    PlanRequest request = requestOf(shape, randomRates(spec, shape, false, random), limits);
    request.placement = PlacementPolicy::Host;
    const auto with = planStep(spec, request);
    request.holdGradients = false;
    const auto without = planStep(spec, request);
    QVERIFY(with && without);
    QCOMPARE(without->memory.shape.heldLayers, std::int64_t{0});
    QVERIFY(with->time.seconds <= without->time.seconds * 1.001);
    if (with->time.seconds < without->time.seconds * 0.999) QVERIFY(with->memory.shape.heldLayers > 0);
    if (with->memory.shape.heldLayers > 0) ++held;
    if (with->time.seconds < without->time.seconds * 0.9) ++faster;
  }
  QVERIFY(held > 5 && held < 40);
  QVERIFY(faster > 2);
}

QTEST_GUILESS_MAIN(TestPlanner)
#include "test_planner.moc"
