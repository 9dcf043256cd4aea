// Plans for a machine with a GPU, carried out: what the planner decides is what the trainer does, on the CPU standing
// in for the GPU, with the GPU's limits. MILLRACE_TEST_DEVICE=cuda:0 carries them out on one.
#include "hardware/detect.h"
#include "run/run_plan.h"
#include "train/small_models.h"
#include "train/training_world.h"

#include <QtTest>
#include <cmath>
#include <fmt/format.h>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr std::int64_t layers = 8;
constexpr std::int64_t microBatches = 2;

HardwareProfile machine(double hostUpdates) {
  HardwareProfile profile;
  profile.cpu.cores = profile.cpu.usableCores = 4;
  profile.memory.total = profile.memory.available = profile.memory.usable = 64 * GiB;
  GpuFacts gpu;
  gpu.index = 0;
  gpu.name = "Card";
  gpu.memoryTotal = gpu.memoryFree = 24 * GiB;
  const auto rate = [](double perSecond) { return Rate{perSecond, RateOrigin::Measured, "test", ""}; };
  // A bus that a step of a small model keeps about as busy as its compute.
  gpu.rates = {rate(1e10), rate(1e10), rate(2e10), rate(1e12), rate(1e12), rate(1e12), rate(1e12)};
  profile.nvidia.gpus.push_back(gpu);
  profile.hostRates.memory = rate(1e11);
  profile.hostRates.adamW = profile.hostRates.adamWBesideCopies = rate(hostUpdates);
  profile.hostRates.adamWSplit = profile.hostRates.adamWSplitBesideCopies = rate(hostUpdates);
  return profile;
}

Project project(Precision precision) {
  Project project;
  project.training.microBatch = 2;
  project.training.context = 32;
  project.training.microBatches = microBatches;
  project.training.precision = precision;
  project.training.headChunk = 20;
  return project;
}

Result<PlannedStep> plan(const ModelSpec& spec, const Project& project, Bytes deviceLimit, double hostUpdates,
                         std::optional<double> share = {}) {
  const HardwareProfile profile = machine(hostUpdates);
  PlanTarget target;
  target.gpu = 0;
  MemoryLimits limits = memoryLimits(project, profile, target);
  if (deviceLimit > 0) limits.device.bytes = deviceLimit;
  PlanRequest request = planRequest(project, limits, profile, target);
  request.deviceUpdateShare = share;
  return planRun(spec, request, limits);
}

struct Done {
  StateBits state;
  double in = 0;
};

Done carryOut(const ModelSpec& spec, const MemoryPlan& plan, QString* problem) {
  World world(spec, plan);
  const auto batches = unevenBatches(spec.vocabulary, microBatches, 2, 32, 3);
  Bytes before = 0;
  Done done;
  for (int step = 0; step < 3; ++step) {
    const auto outcome = world.trainer().step({batches, batches, 0.01});
    if (!outcome || outcome->discarded) *problem = "a step failed";
    world.trainer().applyPending();
    const Bytes now = world.trainer().busUse().in;
    done.in = static_cast<double>(now - before);
    before = now;
  }
  if (world.device().memoryUse(MemorySpace::Device).peak != plan.total(MemoryTier::Device) ||
      world.device().memoryUse(MemorySpace::Host).peak != plan.total(MemoryTier::Host))
    *problem = "memory that was used is not what was planned";
  done.state = world.state();
  return done;
}

std::int64_t layersWith(const MemoryPlan& plan, UnitHome home) {
  return std::count(plan.homes.begin(), plan.homes.end() - 1, home);
}

} // namespace

class TestGpuPlans : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void areCarriedOut_data() {
    QTest::addColumn<int>("precision");
    QTest::newRow("fp32") << static_cast<int>(Precision::Fp32);
    QTest::newRow("bf16") << static_cast<int>(Precision::Bf16);
  }
  /// From all on the device to all streamed, as its memory shrinks; the bits stay.
  void areCarriedOut() {
    QFETCH(int, precision);
    const ModelSpec spec = smallModel("llama", layers, 64);
    const Project wanted = project(static_cast<Precision>(precision));
    const auto whole = plan(spec, wanted, 0, 1e9);
    QVERIFY2(whole.has_value(), whole ? "" : whole.error().message.c_str());
    QCOMPARE(layersWith(whole->memory, UnitHome::Device), layers);
    QString problem;
    const Done reference = carryOut(spec, whole->memory, &problem);
    QVERIFY2(problem.isEmpty(), qPrintable(problem));
    const Bytes most = whole->memory.total(MemoryTier::Device);
    double before = whole->time.seconds;
    bool mixed = false, streamed = false;
    for (int eighths = 7; eighths > 0; --eighths) {
      const auto less = plan(spec, wanted, most / 8 * eighths, 1e9);
      if (!less) break; // less than the smallest settings need
      QVERIFY(less->memory.total(MemoryTier::Device) <= most / 8 * eighths);
      const std::int64_t there = layersWith(less->memory, UnitHome::Device);
      QVERIFY(less->time.seconds >= before * 0.998); // what is faster by less than a thousandth is not taken
      before = less->time.seconds;
      mixed = mixed || (there > 0 && there < layers);
      streamed = streamed || layersWith(less->memory, UnitHome::Host) > layers / 2;
      const Done done = carryOut(spec, less->memory, &problem);
      QVERIFY2(problem.isEmpty(), qPrintable(problem));
      QVERIFY2(reference.state.difference(done.state).empty(), reference.state.difference(done.state).c_str());
      QVERIFY(done.in >= reference.in);
    }
    QVERIFY(mixed && streamed);
  }

  /// Where forward would wait for the host's AdamW the device does a share of it, and the plan has the room.
  void splitUpdatesAreCarriedOut() {
    const ModelSpec spec = smallModel("llama", layers, 64);
    Project wanted = project(Precision::Bf16);
    wanted.memory.placement = PlacementChoice::Ram;
    QString problem;
    const auto fast = plan(spec, wanted, 0, 1e12);
    QVERIFY(fast.has_value());
    QCOMPARE(fast->memory.deviceUpdateShare, 0.0);
    QVERIFY(!fast->memory.find(allocation_name::updateSlot(0)));
    const Done reference = carryOut(spec, fast->memory, &problem);
    const auto slow = plan(spec, wanted, 0, 1e7);
    QVERIFY(slow.has_value());
    QVERIFY(slow->memory.deviceUpdateShare > 0.2 && slow->memory.deviceUpdateShare <= 1);
    QVERIFY(slow->memory.find(allocation_name::updateSlot(2)));
    const Done split = carryOut(spec, slow->memory, &problem);
    QVERIFY2(problem.isEmpty(), qPrintable(problem));
    QVERIFY(reference.state.difference(split.state).empty());
    // Both moments, both halves of the weights and the gradient of what moves come in besides.
    double movable = 0;
    for (const BlockSpec& block : blocksOf(spec))
      if (block.kind != BlockKind::Embedding) movable += static_cast<double>(block.elements);
    const double more = 16 * slow->memory.deviceUpdateShare * movable;
    QVERIFY2(std::abs(split.in - reference.in - more) < 0.05 * more,
             fmt::format("{} and {} bytes in, expected {} more", split.in, reference.in, more).c_str());
    // A share that is asked for is taken where it is not the fastest, and its cost is told.
    for (const double share : {0.25, 1.0}) {
      const auto asked = plan(spec, wanted, 0, 1e12, share);
      QVERIFY(asked.has_value());
      QCOMPARE(asked->memory.deviceUpdateShare, share);
      QVERIFY(asked->time.seconds > fast->time.seconds);
      QVERIFY(reference.state.difference(carryOut(spec, asked->memory, &problem).state).empty());
      QVERIFY2(problem.isEmpty(), qPrintable(problem));
    }
    // With clipping off nothing waits for the host.
    wanted.training.clip = ClipMode::Off;
    QCOMPARE(plan(spec, wanted, 0, 1e7)->memory.deviceUpdateShare, 0.0);
  }
};

QTEST_GUILESS_MAIN(TestGpuPlans)
#include "test_gpu_plans.moc"
