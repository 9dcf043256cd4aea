// Plans of other kinds than one device's training of a small model: inference, several devices, a model far larger than
// the machine, and from which step on compute binds.
#include "plan/planner_cases.h"

using namespace millrace;
using namespace millrace::test;

class TestPlanKinds : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void inference_data();
  void inference();
  void severalDevices();
  void largeModel();
  void computeBinds();
};

void TestPlanKinds::inference_data() {
  QTest::addColumn<QString>("family");
  QTest::addColumn<int>("vocabulary");
  QTest::newRow("llama") << "llama" << 97;
  QTest::newRow("llama, large head") << "llama" << 2000;
  QTest::newRow("gpt2") << "gpt2" << 97;
}

/// Weights alone: where nothing is trained, what is on the device needs no room on the host.
void TestPlanKinds::inference() {
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
void TestPlanKinds::severalDevices() {
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
void TestPlanKinds::largeModel() {
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
void TestPlanKinds::computeBinds() {
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

QTEST_GUILESS_MAIN(TestPlanKinds)
#include "test_plan_kinds.moc"
