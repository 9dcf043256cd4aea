// Limits and requests of a run: what the project sets holds as far as there is so much, both memories of the CPU are
// one, and measured rates take the place of assumed ones.
#include "run/run_plan.h"

#include "base/atomic_file.h"
#include "engine/machines.h"
#include "engine/probe.h"
#include "run/plan_rates.h"
#include "support/memory_file_system.h"
#include "train/small_models.h"

#include <QtTest>
#include <fmt/format.h>

using namespace millrace;
using namespace millrace::test;

namespace {

HardwareProfile machineWith(Bytes usable) {
  HardwareProfile profile;
  profile.cpu.usableCores = 4;
  profile.memory.total = profile.memory.available = profile.memory.usable = usable;
  return withAssumedRates(profile);
}

Project projectWith(Bytes vram, Bytes ram) {
  Project project;
  project.memory.vramLimit = vram;
  project.memory.ramLimit = ram;
  project.training.microBatch = 2;
  project.training.context = 24;
  return project;
}

} // namespace

class TestRunPlan : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void limitsOnTheCpu() {
    const HardwareProfile machine = machineWith(64 * GiB);
    const MemoryLimits derived = memoryLimits(projectWith(0, 0), machine);
    QCOMPARE(derived.device.bytes, 28 * GiB); // half of what is left beside 8 GiB
    QCOMPARE(derived.host.bytes, 28 * GiB);
    QVERIFY(!derived.device.set && !derived.host.set);
    QVERIFY(derived.device.origin.find("memory.vram_limit is not set") != std::string::npos);
    const MemoryLimits set = memoryLimits(projectWith(4 * GiB, 40 * GiB), machine);
    QCOMPARE(set.device.bytes, 4 * GiB);
    QCOMPARE(set.host.bytes, 40 * GiB);
    QCOMPARE(set.host.origin, std::string("memory.ram_limit"));
    const MemoryLimits above = memoryLimits(projectWith(100 * GiB, 0), machine);
    QCOMPARE(above.device.bytes, 64 * GiB);
    QVERIFY(above.device.origin.find("only 64.00 GiB are free") != std::string::npos);
    QCOMPARE(above.host.bytes, Bytes{0}); // never negative
  }

  void limitsOfAGpuAndDisks() {
    HardwareProfile machine = machineWith(64 * GiB);
    GpuFacts gpu;
    gpu.memoryTotal = 24 * GiB;
    gpu.memoryFree = 20 * GiB;
    gpu.displayAttached = true;
    machine.nvidia.gpus.push_back(gpu);
    for (const char* folder : {"/a", "/b", "/c"}) {
      DiskFacts disk;
      disk.folder = folder;
      disk.mountPoint = std::string(folder) == "/b" ? "/a" : folder; // two folders of one file system
      disk.device = disk.mountPoint;
      disk.total = disk.free = 1000 * GiB;
      machine.disks.push_back(disk);
    }
    PlanTarget target;
    target.gpu = 0;
    const MemoryLimits limits = memoryLimits(projectWith(0, 0), machine, target);
    QCOMPARE(limits.device.bytes, 19 * GiB);
    QCOMPARE(limits.host.bytes, 56 * GiB);
    QCOMPARE(limits.disk.bytes, Bytes{0}); // nobody said that state may live there
    target.nvme = true;
    // State is dealt out to the three in equal parts, and two of them share 950 GiB.
    QCOMPARE(memoryLimits(projectWith(0, 0), machine, target).disk.bytes, 3 * 475 * GiB);
    machine.disks.erase(machine.disks.begin() + 1);
    QCOMPARE(memoryLimits(projectWith(0, 0), machine, target).disk.bytes, 2 * 950 * GiB);
    machine.disks[1].free = 100 * GiB; // of which a reserve is left
    QCOMPARE(memoryLimits(projectWith(0, 0), machine, target).disk.bytes, 2 * 50 * GiB);
  }

  /// Two limits that are each below what is free, and together above it.
  void bothMemoriesOfTheCpuAreOne() {
    const ModelSpec spec = smallModel("llama");
    const Project project = projectWith(GiB, GiB);
    const auto plan = [&](Bytes free) {
      const HardwareProfile machine = machineWith(free);
      MemoryLimits limits = memoryLimits(project, machineWith(8 * GiB));
      limits.host.free = free;
      return planRun(spec, planRequest(project, limits, machine), limits);
    };
    const auto ample = plan(8 * GiB);
    QVERIFY(ample.has_value());
    const Bytes needed = ample->memory.total(MemoryTier::Device) + ample->memory.total(MemoryTier::Host);
    QVERIFY(plan(needed).has_value());
    const auto refused = plan(needed - 1);
    QVERIFY(!refused.has_value());
    QCOMPARE(refused.error().kind, ErrorKind::DoesNotFit);
    QVERIFY(refused.error().message.find("close other programs") != std::string::npos);
  }

  /// Half for each is not enough, another share is.
  void otherSharesAreTried() {
    const ModelSpec spec = smallModel("llama", 4, 256);
    const Project project = projectWith(0, 0);
    MemoryLimits limits;
    limits.host.free = GiB;
    const auto fits = [&](Bytes device, Bytes host) {
      limits.device.bytes = device;
      limits.host.bytes = host;
      return planRun(spec, planRequest(project, limits, machineWith(8 * GiB)), limits);
    };
    const auto ample = fits(GiB / 2, GiB / 2);
    QVERIFY(ample.has_value());
    const Bytes all = ample->memory.total(MemoryTier::Device) + ample->memory.total(MemoryTier::Host);
    limits.device.set = true;
    Bytes both = all; // the least that half and half is too little for
    while (!fits(both / 2, both / 2)) both += all / 16;
    both -= all / 16;
    limits.device.set = false;
    const auto shared = fits(both / 2, both / 2);
    QVERIFY2(shared.has_value(), shared ? "" : shared.error().message.c_str());
    QCOMPARE(shared->memory.deviceLimit + shared->memory.hostLimit, both / 2 * 2);
    QVERIFY(shared->memory.deviceLimit != both / 2);
  }

  /// Each setting that is named was tried, and those that would need as much or more are not named.
  void whatNeedsLessIsNamed_data() {
    QTest::addColumn<int>("microBatches");
    QTest::addColumn<int>("group");
    QTest::addColumn<bool>("device");
    QTest::newRow("host, one micro-batch") << 1 << 1 << false;
    QTest::newRow("host, one group") << 4 << 4 << false;
    QTest::newRow("host, several groups, whose sums wait in fp32") << 4 << 1 << false;
    QTest::newRow("device") << 2 << 2 << true;
  }
  void whatNeedsLessIsNamed() {
    QFETCH(int, microBatches);
    QFETCH(int, group);
    QFETCH(bool, device);
    const ModelSpec spec = smallModel("llama", 4, 256);
    Project project = projectWith(device ? Bytes{1000} : GiB, device ? GiB : Bytes{1000});
    project.training.microBatches = microBatches;
    project.training.scheduleGroup = group;
    project.training.precision = Precision::Bf16;
    project.memory.placement = PlacementChoice::Ram;
    const auto requestOf = [](const Project& changed) {
      const HardwareProfile machine = machineWith(8 * GiB);
      return planRequest(changed, memoryLimits(changed, machine), machine);
    };
    const auto least = [&](const Project& changed) {
      const PlanRequest request = requestOf(changed);
      return device ? smallestPlan(spec, request).total(MemoryTier::Device)
                    : leanestPlan(spec, request).total(MemoryTier::Host);
    };
    const std::string clause = whatNeedsLess(spec, requestOf(project));
    const Bytes now = least(project);
    int named = 0;
    const auto check = [&](const std::string& setting, const auto& change) {
      Project changed = project;
      change(changed);
      const Bytes bytes = least(changed);
      const bool says = clause.find(fmt::format("{} with {}", formatBytes(bytes), setting)) != std::string::npos;
      QVERIFY2(says == (bytes < now), fmt::format("{}: {} of {}: {}", setting, bytes, now, clause).c_str());
      QVERIFY2(says == (clause.find(setting) != std::string::npos), clause.c_str());
      named += says ? 1 : 0;
    };
    check("training.clip exact-bf16", [](Project& p) { p.training.clip = ClipMode::ExactBf16; });
    check("training.clip off", [](Project& p) { p.training.clip = ClipMode::Off; });
    check("training.micro_batch 1", [](Project& p) { p.training.microBatch = 1; });
    check("training.context 12", [](Project& p) { p.training.context = 12; });
    if (microBatches > 1)
      check(fmt::format("training.micro_batches {}", microBatches / 2),
            [&](Project& p) { p.training.microBatches /= 2; });
    QVERIFY2(named > 0, clause.c_str());
    QCOMPARE(clause.find("exact-bf16") == std::string::npos, device || group < microBatches);
    QVERIFY(clause.starts_with("the least would be "));
  }

  void measuredRatesComeFirst() {
    HardwareProfile machine = machineWith(8 * GiB);
    DiskFacts disk;
    disk.folder = disk.mountPoint = "/d";
    disk.device = "nvme0n1";
    machine.disks.push_back(disk);
    ProbeReport report;
    const auto rate = [](double perSecond) {
      return Rate{perSecond, RateOrigin::Measured, "probe", "2026-01-02T03:04:05Z"};
    };
    report.device.gemmFp32 = rate(11e9);
    report.device.copyIn = rate(5e9);
    report.hostFp32.adamW = rate(3e8);
    report.hostBf16.adamW = rate(2e8);
    report.disks.push_back({"/d", "/d", "nvme0n1", {rate(3e9), rate(2e9)}, ""});
    const HardwareProfile known = withMeasuredRates(machine, report);
    QCOMPARE(known.cpuRates.gemmFp32.perSecond, 11e9);
    QCOMPARE(known.cpuRates.copyOut, machine.cpuRates.copyOut); // was not measured
    QCOMPARE(known.disks.front().rates.write.perSecond, 2e9);
    const StepRates fp32 = stepRates(known, Precision::Fp32, -1, 4), bf16 = stepRates(known, Precision::Bf16, -1, 4);
    QCOMPARE(fp32.update, 3e8);
    QCOMPARE(bf16.update, 2e8); // on split weights
    QVERIFY(fp32.measured && !fp32.assumed);
    QVERIFY(!bf16.measured && bf16.assumed); // its products were not measured
    QVERIFY(!stepRates(machine, Precision::Fp32, -1, 4).measured);
  }

  /// A cache that cannot be read is told of, and so is one that has nothing of this machine.
  void whatIsWrongWithTheCacheIsTold() {
    qputenv("XDG_CACHE_HOME", "/cache");
    MemoryFileSystem files;
    const auto noticeOf = [&](HardwareProfile machine) {
      std::string notice;
      const HardwareProfile filled = withRates(files, std::move(machine), Project(), -1, &notice);
      if (!filled.cpuRates.gemmFp32.known()) notice = "no rates";
      return notice;
    };
    QVERIFY(noticeOf(machineWith(8 * GiB)).find("never measured") != std::string::npos);
    QVERIFY(files.createDirectories("/cache/millrace").has_value());
    QVERIFY(writeTextFile(files, "/cache/millrace/rates.json", "{\"format\": 1").has_value());
    QVERIFY(noticeOf(machineWith(8 * GiB)).find("damaged") != std::string::npos);
    HardwareProfile described = machineWith(8 * GiB);
    described.name = "another";
    QVERIFY(noticeOf(described).empty());
  }

  /// What a project says of the drives holds as far as there is so much.
  void noMoreOfADriveThanThereIs() {
    HardwareProfile machine = machineWith(64 * GiB);
    machine.disks.resize(1);
    machine.disks[0].folder = "/a";
    machine.disks[0].total = machine.disks[0].free = 100 * GiB;
    PlanTarget target;
    target.nvme = true;
    target.budgets.disk = 60 * GiB;
    QCOMPARE(memoryLimits(projectWith(0, 0), machine, target).disk.bytes, 60 * GiB);
    target.budgets.disk = 1000 * GiB;
    QCOMPARE(memoryLimits(projectWith(0, 0), machine, target).disk.bytes, 100 * GiB);
  }
};

QTEST_GUILESS_MAIN(TestRunPlan)
#include "test_run_plan.moc"
