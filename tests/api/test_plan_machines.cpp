// Plans for machines of all sorts: what the user says of a machine, drives that checkpoints wear, unlike GPUs, settings
// and options that have no effect.
#include "device/gpus.h"
#include "engine/machines.h"
#include "engine/model_presets.h"
#include "engine/plan.h"
#include "support/memory_file_system.h"

#include <QtTest>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr Bytes terabyte = 1'000'000'000'000;

/// This machine, as far as the planner can tell: small, and half of it in use.
HardwareProfile smallMachine() {
  HardwareProfile profile;
  profile.cpu.cores = profile.cpu.usableCores = 4;
  profile.cpu.instructionSets.avx2 = true;
  profile.memory.total = 32 * GiB;
  profile.memory.available = 16 * GiB;
  profile.memory.groupLimit = 20 * GiB;
  profile.memory.groupFree = profile.memory.usable = 12 * GiB;
  DiskFacts disk;
  disk.folder = disk.mountPoint = "/runs";
  disk.kind = DiskKind::Nvme;
  disk.total = 100'000'000'000;
  disk.free = 60'000'000'000;
  disk.ratedEndurance = 60 * terabyte;
  profile.disks.push_back(disk);
  return profile;
}

bool says(const std::vector<std::string>& lines, const std::string& words) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return line.find(words) != line.npos; });
}

} // namespace

class TestPlanMachines : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void moreRamIsNeverWorse() {
    PlanOptions options;
    PlannedLargest before;
    Bytes limit = 0;
    for (const Bytes ram : {20 * GiB, 40 * GiB, 100 * GiB, 300 * GiB, 1000 * GiB, 2 * terabyte}) {
      options.budgets.ram = ram;
      options.budgets.disk = 1000 * terabyte; // checkpoints shall not be what limits
      const PlanReport report = plan("60e6", smallMachine(), options, {"training.micro_batches=1"});
      QVERIFY(report.fits());
      QVERIFY(report.largest.microBatch >= before.microBatch && report.largest.context >= before.context);
      QVERIFY(report.largest.parameters >= before.parameters);
      QVERIFY(report.largest.parameters * 16 > 0.2 * static_cast<double>(ram)); // of all that there is, not of what was
      QVERIFY(report.tiers[1].limit > limit);
      QCOMPARE(report.tiers[1].free, ram);
      before = report.largest;
      limit = report.tiers[1].limit;
    }
  }

  void oneDriveForEverything() {
    PlanOptions options = quick();
    options.nvme = true;
    options.budgets.disk = 2 * terabyte;
    const PlanReport report = plan("60e6", smallMachine(), options);
    QCOMPARE(report.tiers[2].free, 2 * terabyte);
    QCOMPARE(*report.run.checkpointFree, 2 * terabyte);
    QCOMPARE(report.run.endurance, 20 * 60 * terabyte);
    HardwareProfile without = smallMachine();
    without.disks.clear();
    const PlanReport made = plan("60e6", without, options);
    QCOMPARE(*made.run.checkpointFree, 2 * terabyte);
    QVERIFY(made.run.enduranceAssumed && made.run.driveYears > 0);
  }

  void checkpointsWearTheDrive() {
    const HardwareProfile machine = *findMachine(m_files, "h100");
    const auto with = [&](const std::vector<std::string>& settings, PlanOptions options = quick()) {
      options.budgets.ram = 512 * GiB;
      return plan("llama-2-7b", machine, options, settings);
    };
    const PlanReport report = with({"training.steps=200000"});
    const PlannedRun& run = report.run;
    const double perDay = static_cast<double>(run.checkpointBytes) * 86400 / (1800 + run.checkpointSeconds);
    QCOMPARE(run.writtenPerStep, Bytes{0});
    QVERIFY(qFuzzyCompare(run.writtenPerDay, perDay) && qFuzzyCompare(run.wornPerDay, perDay));
    PlanOptions poor = quick();
    poor.endurance = 100 * terabyte; // 26 days of it
    const PlanReport worn = with({"training.steps=200000"}, poor);
    QVERIFY(worn.verdict == Verdict::Tight);
    QVERIFY(says(worn.reasons, "worn out after 2"));
    // A short run leaves the drive as it was, and so does one without checkpoints on the way.
    QVERIFY(with({"training.steps=200"}, poor).verdict == Verdict::Fits);
    const PlanReport none = with({"training.steps=200000", "checkpoint.every_minutes=0"}, poor);
    QCOMPARE(none.run.writtenPerDay, 0.0);
    QVERIFY(none.verdict == Verdict::Fits);
    QVERIFY(says(none.notes, "--nvme-tbw changes nothing"));
    QVERIFY(report.run.checkpointPauses > 0 && none.run.checkpointPauses == 0);
  }

  /// A drive that is added is not worn for what memory has room for.
  void memoryIsTakenFirst() {
    PlanOptions options = quick();
    options.budgets.ram = 160 * GiB; // with less, moments on the drive make room for activations
    const HardwareProfile machine = *findMachine(m_files, "rtx-4090");
    const std::vector<std::string> settings{"training.clip=exact-bf16", "checkpoint.every_minutes=240"};
    const PlanReport without = plan("llama-2-7b", machine, options, settings);
    QVERIFY(without.fits());
    options.nvme = true;
    options.budgets.disk = 2 * terabyte;
    const PlanReport with = plan("llama-2-7b", machine, options, settings);
    QCOMPARE(with.tiers[2].needed, Bytes{0});
    QCOMPARE(with.time.tokensPerSecond, without.time.tokensPerSecond);
    QVERIFY(with.verdict == without.verdict);
    options.budgets.ram = 80 * GiB; // too little for it
    const PlanReport needed = plan("llama-2-7b", machine, options, settings);
    QVERIFY(needed.fits() && needed.tiers[2].needed > 0);
  }

  /// Checkpoints that leave no room for state are named, before the memory that is too small without it.
  void checkpointsInTheWay() {
    PlanOptions options;
    options.gpus = 2;
    options.nvme = true;
    options.budgets.ram = 2 * terabyte;
    options.budgets.disk = 16 * terabyte;
    const PlanReport report = plan("llama-3-405b", *findMachine(m_files, "2x-h200"), options);
    QVERIFY(!report.fits());
    QCOMPARE(report.reasons.size(), std::size_t{2});
    QVERIFY2(report.reasons[0].starts_with("the disk of the checkpoints is too small"), report.reasons[0].c_str());
    QVERIFY2(report.reasons[1].starts_with("host memory is too small"), report.reasons[1].c_str());
    QVERIFY(!report.advice.empty());
  }

  /// Where several things are missing all of them are advised.
  void memoryAndDiskAreAdvised() {
    const PlanReport report = plan("llama-3-8b", smallMachine(), PlanOptions());
    QVERIFY(!report.fits());
    const auto both = std::find_if(report.advice.begin(), report.advice.end(),
                                   [](const PlanAdvice& advice) { return advice.addRam > 0 && advice.addDisk > 0; });
    QVERIFY(both != report.advice.end());
    HardwareProfile bought = smallMachine();
    bought.memory.total += both->addRam;
    bought.memory.available += both->addRam;
    bought.memory.usable += both->addRam;
    *bought.memory.groupLimit += both->addRam;
    *bought.memory.groupFree += both->addRam;
    bought.disks[0].total += both->addDisk;
    bought.disks[0].free += both->addDisk;
    QVERIFY(plan("llama-3-8b", bought, quick()).fits());
  }

  void whatTheDriverTakesIsTold() {
    const PlanReport report = plan("60e6", *findMachine(m_files, "rtx-4090"), quick(),
                                   {"memory.vram_limit=40MiB", "training.micro_batches=1"});
    QVERIFY(!report.fits());
    QVERIFY2(says(report.reasons, "the GPU's driver takes 600.00 MiB more"), report.reasons[0].c_str());
  }

  void memoryMustBeKnown() {
    HardwareProfile machine = *findMachine(m_files, "rtx-4090");
    machine.memory = {};
    const auto report = tryPlan("llama-2-7b", machine, quick(), {});
    QVERIFY(!report && report.error().message.find("give --ram") != std::string::npos);
    PlanOptions options = quick();
    options.budgets.ram = 128 * GiB;
    QVERIFY(tryPlan("llama-2-7b", machine, options, {}).has_value());
  }

  void aRunIsAStepAtLeast() {
    PlanOptions options = quick();
    options.tokens = 1;
    const PlanReport report = plan("60e6", smallMachine(), options);
    QCOMPARE(report.run.tokens, static_cast<double>(report.tokensPerStep));
    QVERIFY(report.run.seconds >= report.time.stepSeconds);
  }

  /// The least of what they have counts, whichever comes first.
  void unlikeGpus() {
    PlanOptions options = quick();
    options.gpus = 2;
    const auto with = [&](const char* first, const char* second) {
      HardwareProfile machine = *findMachine(m_files, "2x-rtx-4090");
      machine.memory.total = 256 * GiB;
      machine.nvidia.gpus = {findMachine(m_files, first)->nvidia.gpus[0], findMachine(m_files, second)->nvidia.gpus[0]};
      machine.nvidia.gpus[1].index = 1;
      return plan("llama-2-7b", machine, options);
    };
    const PlanReport least = with("rtx-3090", "rtx-3090");
    QVERIFY(with("h100", "h100").time.tokensPerSecond > least.time.tokensPerSecond);
    for (const PlanReport& mixed : {with("h100", "rtx-3090"), with("rtx-3090", "h100")}) {
      QCOMPARE(mixed.time.tokensPerSecond, least.time.tokensPerSecond);
      QCOMPARE(mixed.tiers[0].limit, least.tiers[0].limit);
      QVERIFY(mixed.device.find("H100") != std::string::npos && mixed.device.find("3090") != std::string::npos);
    }
  }

  void devices_data() {
    QTest::addColumn<QString>("device");
    QTest::addColumn<int>("gpus");
    QTest::addColumn<QString>("says"); // empty: it is planned
    QTest::newRow("the CPU, and GPUs") << "cpu" << 2 << "--gpus 2: training.device is cpu";
    QTest::newRow("the CPU") << "cpu" << 0 << "";
    QTest::newRow("the second") << "cuda:1" << 0 << "";
    QTest::newRow("both") << "cuda:1" << 2 << "";
    QTest::newRow("no such GPU") << "cuda:5" << 0 << "has 2 GPUs";
  }
  void devices() {
    QFETCH(QString, device);
    QFETCH(int, gpus);
    QFETCH(QString, says);
    PlanOptions options = quick();
    options.gpus = gpus;
    const auto report =
        tryPlan("gpt2-1.5b", *findMachine(m_files, "2x-h100"), options, {"training.device=" + device.toStdString()});
    QCOMPARE(report.has_value(), says.isEmpty());
    if (report)
      QCOMPARE(report->gpus, device == "cpu" ? 0 : std::max(1, gpus));
    else
      QVERIFY2(report.error().message.find(says.toStdString()) != std::string::npos, report.error().message.c_str());
  }

  void whatHasNoEffectIsSaid() {
    PlanOptions options = quick();
    options.budgets.vram = 8 * GiB;
    options.pricePerKilowattHour = 0.3;
    const PlanReport report = plan("60e6", smallMachine(), options, {"training.epochs=2", "training.tokens=null"});
    for (const char* words : {"--vram changes nothing", "--kwh-price changes nothing", "give --tokens N",
                              "the rates are assumed: this machine's rates were never measured"})
      QVERIFY2(says(report.notes, words), words);
    const PlanReport named = plan("gpt2-1.5b", *findMachine(m_files, "h100"), quick(),
                                  {R"(memory.nvme.directories=["/nvme", "/more", "/most"])"});
    QVERIFY(says(named.notes, "names 3 folders, and the machine has 1"));
    QVERIFY(says(named.notes, "the rates are assumed, of data sheets"));
    QVERIFY(!says(named.notes, "changes nothing"));
  }

  /// Settings on top of a model contradict none that nobody gave, and name files where the user is.
  void settingsOnTopOfAModel() {
    const Project project =
        projectOf("60e6", {"training.clip=off", R"(memory.nvme.directories=["here", "/there"])"}, true);
    QVERIFY(project.training.clip == ClipMode::Off);
    const std::vector<Path> directories{std::filesystem::current_path() / "here", "/there"};
    QVERIFY(project.memory.nvme.directories == directories);
    QCOMPARE(project.training.microBatches, std::int64_t{32});
    QVERIFY(project.training.precision == Precision::Bf16);
  }

  /// What the refusal names is what the table shows.
  void oneFigureForWhatIsNeeded() {
    PlanOptions options = quick();
    options.budgets.ram = 128'000'000'000;
    for (const char* clip : {"exact", "exact-bf16", "off"}) {
      const PlanReport report =
          plan("llama-2-70b", *findMachine(m_files, "rtx-4090"), options, {std::string("training.clip=") + clip});
      QVERIFY(report.verdict == Verdict::DoesNotFit);
      QVERIFY2(says(report.reasons, "raise memory.ram_limit, or choose a smaller model"),
               report.reasons.front().c_str());
      Bytes planned = report.tiers[1].needed;
      for (const PlannedCategory& category : report.tiers[1].categories)
        if (category.name == "program") planned -= category.bytes;
      QVERIFY2(says(report.reasons, fmt::format("at least {} ({} bytes)", formatBytes(planned), planned)),
               report.reasons.front().c_str());
    }
    options.budgets.ram = 1 * GiB;
    const PlanReport small = plan("1e9", smallMachine(), options);
    QVERIFY2(says(small.reasons, "a share of RAM, of which the machine has too little"), small.reasons[0].c_str());
  }

  /// A model alone is asked about with what a run on that machine would begin with.
  void settingsOfAModelAreThoseOfWhatComputes_data() {
    QTest::addColumn<QString>("machine"); ///< empty: this one, with a GPU of this capability
    QTest::addColumn<int>("capability");
    QTest::addColumn<QString>("setting");
    QTest::addColumn<bool>("gpu");
    const bool cuda = cudaRelease() > 0;
    QTest::newRow("described GPU") << "h200" << 0 << "" << true;
    QTest::newRow("described, on its CPU") << "h200" << 0 << "training.device=cpu" << false;
    QTest::newRow("described, fp32 is asked for") << "h200" << 0 << "training.precision=fp32" << true;
    QTest::newRow("this one, usable") << "" << 9 << "" << cuda;
    QTest::newRow("this one, too old") << "" << 7 << "" << false;
    QTest::newRow("this one, without") << "" << 0 << "" << false;
    QTest::newRow("this one, on its CPU") << "" << 9 << "training.device=cpu" << false;
  }
  void settingsOfAModelAreThoseOfWhatComputes() {
    QFETCH(QString, machine);
    QFETCH(int, capability);
    QFETCH(QString, setting);
    HardwareProfile profile;
    if (!machine.isEmpty()) profile = *findMachine(m_files, machine.toStdString());
    if (capability > 0) {
      GpuFacts card;
      card.index = 0;
      card.memoryTotal = card.memoryFree = 80 * GiB;
      card.capability = ComputeCapability{capability, 0};
      profile.nvidia.gpus = {card};
    }
    std::vector<std::string> settings;
    if (!setting.isEmpty()) settings.push_back(setting.toStdString());
    const ModelSource model(valueOrThrow(presetConfig("qwen2.5-7b")));
    const Project project = valueOrThrow(projectOfModel(m_files, "qwen2.5-7b", model, profile, 0, settings));
    QFETCH(bool, gpu);
    const bool bf16 = gpu && !setting.contains("precision");
    QCOMPARE(project.training.precision == Precision::Bf16, bf16);
    QCOMPARE(project.training.tokensPerStep(), std::int64_t{gpu ? 65536 : 4096});
    QVERIFY(project.training.device == "auto" || setting.contains("device"));
  }

  /// From where compute alone binds on, more tokens a step gain next to nothing.
  void whatBindsAgrees() {
    double before = 0;
    bool bound = false;
    for (const char* batches : {"1", "4", "16", "64", "256"}) {
      PlanOptions options = quick();
      options.budgets.ram = 256 * GiB;
      const PlanReport report = plan("llama-2-7b", *findMachine(m_files, "rtx-4090"), options,
                                     {std::string("training.micro_batches=") + batches});
      const bool enough = report.time.computeBindsFrom > 0 &&
                          report.time.computeBindsFrom <= static_cast<double>(report.tokensPerStep) * 1.001;
      QVERIFY(!enough || report.time.bottleneck == "compute");
      if (bound) QVERIFY(enough && report.time.tokensPerSecond < 1.1 * before);
      bound = enough;
      before = report.time.tokensPerSecond;
    }
    QVERIFY(bound);
  }

 private:
  Project projectOf(const std::string& model, const std::vector<std::string>& settings, bool gpu) {
    const bool number = std::isdigit(static_cast<unsigned char>(model.front())) != 0;
    ModelConfig config = number ? valueOrThrow(modelOfSize(std::stod(model))) : valueOrThrow(presetConfig(model));
    return valueOrThrow(projectOfModel(m_files, model, ModelSource(std::move(config)), gpu, settings));
  }
  static PlanOptions quick() {
    PlanOptions options;
    options.advice = false;
    return options;
  }
  Result<PlanReport> tryPlan(const std::string& model, const HardwareProfile& machine, const PlanOptions& options,
                             const std::vector<std::string>& settings) {
    return planProject(m_files, projectOf(model, settings, !machine.nvidia.gpus.empty()), model, machine, options);
  }
  PlanReport plan(const std::string& model, const HardwareProfile& machine, const PlanOptions& options,
                  const std::vector<std::string>& settings = {}) {
    return valueOrThrow(tryPlan(model, machine, options, settings));
  }

  MemoryFileSystem m_files;
};

QTEST_GUILESS_MAIN(TestPlanMachines)
#include "test_plan_machines.moc"
