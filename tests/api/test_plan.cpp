// Plans whose answers are known: bytes by hand, the scenarios that people ask about, machines that are short of
// something, and advice that is taken.
#include "engine/plan.h"
#include "engine/project_fields.h"

#include "device/gpus.h"

#include "engine/machines.h"
#include "engine/model_presets.h"
#include "support/memory_file_system.h"

#include <QtTest>
#include <algorithm>
#include <cmath>
#include <numeric>

using namespace millrace;
using namespace millrace::test;

namespace {

constexpr Bytes terabyte = 1'000'000'000'000;

/// A question as a person would put it on the command line.
struct Question {
  std::string model; ///< a preset, or a number of parameters
  std::string machine = "h100";
  Bytes ram = 0, nvme = 0;
  int gpus = 0;
  std::vector<std::string> settings = {};
};

} // namespace

class TestPlan : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void stateIsTwelveBytesAParameter_data() {
    QTest::addColumn<QString>("model");
    QTest::addColumn<double>("published"); // bytes
    QTest::newRow("13B") << "llama-2-13b" << 156e9;
    QTest::newRow("70B") << "llama-2-70b" << 840e9;
    QTest::newRow("100B") << "100e9" << 1.2e12;
  }
  void stateIsTwelveBytesAParameter() {
    QFETCH(QString, model);
    QFETCH(double, published);
    for (const auto& [clip, waiting] : {std::pair{"exact", 4}, {"exact-bf16", 2}, {"off", 0}}) {
      std::vector<std::string> settings{std::string("training.clip=") + clip, "training.schedule_group=32"};
      if (waiting == 0) settings.push_back("training.max_grad_norm=null");
      const PlanReport report = plan({model.toStdString(), "h100", 8192 * GiB, 0, 0, settings});
      QCOMPARE(report.stateBytes, 12 * report.parameters);
      QCOMPARE(report.peakStateBytes, (12 + waiting) * report.parameters);
      QVERIFY(std::abs(static_cast<double>(report.stateBytes) / published - 1) < 0.02);
      // What is allocated in all tiers: padding of operands, and the tables' gradients, which always wait.
      const auto planned = [&](const char* name) {
        Bytes sum = 0;
        for (const PlannedTier& tier : report.tiers)
          for (const PlannedCategory& category : tier.categories)
            if (category.name == name) sum += category.bytes;
        return static_cast<double>(sum);
      };
      const auto parameters = static_cast<double>(report.parameters);
      QVERIFY(std::abs((planned("weights") + planned("moments")) / (12 * parameters) - 1) < 1e-3);
      if (waiting > 0) QVERIFY(planned("waiting gradients") < 1.1 * waiting * parameters);
    }
  }

  void scenarios_data() {
    QTest::addColumn<Question>("question");
    QTest::addColumn<QStringList>("verdicts");
    QTest::addColumn<double>("mostTokens"); // a second: what the GPU's products alone would allow
    const auto row = [](const char* name, const Question& question, const QStringList& verdicts, double mostTokens) {
      QTest::newRow(name) << question << verdicts << mostTokens;
    };
    row("101B, fp32, NVMe, one H100",
        {"llama-101b", "h100", 512 * GiB, 16 * terabyte, 0, {"training.precision=fp32", "training.micro_batches=64"}},
        {"tight"}, 52e12 / (6 * 101e9));
    row("GPT-3 175B, one A100", {"gpt3-175b", "a100", 1024 * GiB, 16 * terabyte, 0, {}}, {"tight"},
        312e12 / (6 * 175e9));
    row("120B, one H200, 1.5 TB, exact", {"120e9", "h200", 1536 * GiB}, {"does_not_fit"}, 0);
    row("120B, one H200, 1.5 TB, NVMe", {"120e9", "h200", 1536 * GiB, 16 * terabyte}, {"fits", "tight"},
        790e12 / (6 * 120e9));
    row("405B, two H200", {"llama-3-405b", "2x-h200", 2048 * GiB, 32 * terabyte, 2, {}}, {"tight"},
        2 * 790e12 / (6 * 405e9));
    row("7B, RTX 4090", {"llama-2-7b", "rtx-4090", 128'000'000'000, 2 * terabyte}, {"tight"},
        165e12 / (6 * 6.7e9)); // by its checkpoints the drive is worn out before the run ends
    row("13B, RTX 4090", {"llama-2-13b", "rtx-4090", 128'000'000'000, 2 * terabyte}, {"tight"}, 165e12 / (6 * 13e9));
    row("13B, RTX 4090, no NVMe", {"llama-2-13b", "rtx-4090", 128'000'000'000}, {"does_not_fit"}, 0);
  }
  void scenarios() {
    QFETCH(Question, question);
    QFETCH(QStringList, verdicts);
    QFETCH(double, mostTokens);
    const PlanReport report = plan(question);
    const std::string_view verdict = toString(report.verdict);
    QVERIFY2(verdicts.contains(QString::fromUtf8(verdict.data(), static_cast<int>(verdict.size()))), verdict.data());
    QCOMPARE(report.verdict == Verdict::Fits, report.reasons.empty());
    checkSums(report);
    // A build with CUDA trains on one GPU, and nothing trains on several.
    const bool cannot = cudaRelease() == 0 || report.gpus > 1;
    QCOMPARE(std::any_of(report.notes.begin(), report.notes.end(),
                         [](const std::string& note) { return note.find("plan only") != note.npos; }),
             cannot);
    if (!report.fits()) {
      takeAdvice(question, report);
      return;
    }
    for (const PlannedTier& tier : report.tiers) QVERIFY2(tier.fits(), tier.name.c_str());
    QVERIFY(report.time.tokensPerSecond < mostTokens);
    QVERIFY(report.time.tokensPerSecond > mostTokens / 30);
    QVERIFY(!report.time.measured);
    QVERIFY(report.run.seconds * report.time.tokensPerSecond >= report.run.tokens);
    QVERIFY(report.run.kilowattHours > 0);
    const bool onDisk = report.tiers[2].needed > 0;
    QCOMPARE(report.run.writtenPerStep > 0, onDisk);
    const double years = static_cast<double>(report.run.endurance) / report.run.wornPerDay / 365.25;
    QVERIFY(qFuzzyCompare(report.run.driveYears, years)); // checkpoints are written whether state is or not
    QVERIFY(report.run.writtenPerDay > 40.0 * static_cast<double>(report.run.checkpointBytes)); // every 30 minutes
    if (onDisk) {
      // A day of steps writes what one step writes, and checkpoints besides.
      QVERIFY(report.run.writtenPerDay * report.time.stepSeconds / 86400 >
              0.5 * static_cast<double>(report.run.writtenPerStep));
    }
    QVERIFY(report.largest.context >= 128 && report.largest.microBatch >= 1);
    QVERIFY(report.largest.parameters > 0.9 * static_cast<double>(report.parameters));
  }

  /// By the formulas that a person would use.
  void timesOfASmallCase() {
    // All of a 1.5B model in 80 GB of VRAM: nothing but compute and device AdamW.
    const PlanReport report =
        plan({"gpt2-1.5b", "h100", 512 * GiB, 0, 0, {"training.recompute=full", "memory.placement=vram"}});
    QCOMPARE(report.placement.onDevice, report.layers + 1); // and the head
    const double n = static_cast<double>(report.parameters);
    const double flops =
        8.0 * n * static_cast<double>(report.tokensPerStep); // the embedding costs none, attention some
    QVERIFY(std::abs(report.time.stepSeconds / (flops / 740e12) - 1) < 0.35);
    QCOMPARE(report.time.bottleneck, std::string("compute"));
    QVERIFY(report.time.low < report.time.tokensPerSecond && report.time.tokensPerSecond < report.time.high);
    QVERIFY(report.time.boundSeconds <= report.time.stepSeconds);
    QCOMPARE(report.run.checkpointBytes, 12 * report.parameters);
    QVERIFY(qFuzzyCompare(report.run.checkpointSeconds, static_cast<double>(report.run.checkpointBytes) / 3.5e9));
    QCOMPARE(report.run.checkpointDisk, 4 * report.run.checkpointBytes); // two, the best, and one being written
  }

  void tokensBudgetAndPrice() {
    Question question{"llama-2-7b", "rtx-4090", 128'000'000'000};
    PlanOptions options = optionsOf(question);
    options.tokens = 1e9;
    options.pricePerKilowattHour = 0.5;
    const PlanReport report = planOf(question, machineOf(question), options);
    QCOMPARE(report.run.tokens, 1e9);
    QVERIFY(std::abs(report.run.seconds / (1e9 / report.time.tokensPerSecond) - 1) < 0.05); // checkpoints besides
    QVERIFY(qFuzzyCompare(report.run.kilowattHours, 0.6 * report.run.seconds / 3600));      // 450 W and 150 W
    QVERIFY(qFuzzyCompare(*report.run.cost, 0.5 * report.run.kilowattHours));
  }

  void machinesThatAreShort_data() {
    QTest::addColumn<QString>("what");
    QTest::addColumn<QString>("verdict");
    QTest::addColumn<QString>("says"); // in a reason, a limit's origin or a note
    QTest::newRow("nothing") << ""
                             << "fits"
                             << "";
    QTest::newRow("cgroup") << "cgroup"
                            << "does_not_fit"
                            << "/sys/fs/cgroup/box/memory.max";
    QTest::newRow("RAM nearly full") << "ram"
                                     << "does_not_fit"
                                     << "host memory is too small";
    QTest::newRow("RAM just enough") << "just enough"
                                     << "tight"
                                     << "less than 5% to spare";
    QTest::newRow("disk full") << "disk"
                               << "does_not_fit"
                               << "disk of the checkpoints is too small";
    QTest::newRow("GPU in use") << "gpu"
                                << "does_not_fit"
                                << "blender";
    QTest::newRow("GPU half in use") << "half"
                                     << "fits"
                                     << "blender";
    QTest::newRow("no GPU") << "none"
                            << "tight" // decades of checkpoints
                            << "half of what may be taken";
    QTest::newRow("memlock") << "memlock"
                             << "fits"
                             << "";
  }
  void machinesThatAreShort() {
    QFETCH(QString, what);
    QFETCH(QString, verdict);
    QFETCH(QString, says);
    const Question question{"qwen2.5-3b", "rtx-4090"};
    HardwareProfile machine = machineOf(question);
    machine.name.clear(); // what is free counts on this machine; one that is described is taken to be empty
    PlanOptions options = quick();
    options.gpus = what == "none" ? 0 : 1;
    machine.memory.total = 128 * GiB;
    machine.memory.available = machine.memory.usable = 120 * GiB;
    const auto usable = [&](Bytes bytes) { machine.memory.available = machine.memory.usable = bytes; };
    GpuFacts& gpu = machine.nvidia.gpus.front();
    const auto taken = [&](Bytes bytes) {
      gpu.memoryFree -= bytes;
      gpu.processes = {{4711, "blender", bytes}};
    };
    if (what == "cgroup") {
      machine.memory.groupLimit = machine.memory.groupFree = machine.memory.usable = 24 * GiB;
      machine.memory.groupLimitSource = "/sys/fs/cgroup/box/memory.max";
    } else if (what == "ram") {
      usable(6 * GiB);
    } else if (what == "just enough") {
      Bytes least = 8 * GiB, most = 120 * GiB; // as much as fits, less than 5% more than is needed
      while (most - least > 256 * MiB) {
        const Bytes middle = (least + most) / 2;
        usable(middle);
        (planOf(question, machine, options).fits() ? most : least) = middle;
      }
      usable(most);
    } else if (what == "disk") {
      machine.disks.front().free = 1 * GiB;
    } else if (what == "gpu") {
      taken(gpu.memoryFree - GiB - 300 * MiB);
    } else if (what == "half") {
      taken(gpu.memoryFree / 2);
    } else if (what == "none") {
      machine.nvidia.gpus.clear();
    } else if (what == "memlock") {
      machine.memory.lockLimit = 64 * 1024;
    }
    const PlanReport report = planOf(question, machine, options);
    const std::string_view given = toString(report.verdict);
    QCOMPARE(QString::fromUtf8(given.data(), static_cast<int>(given.size())), verdict);
    QCOMPARE(report.gpus, what == "none" ? 0 : 1);
    std::string words;
    for (const std::string& reason : report.reasons) words += reason + "\n";
    for (const PlannedTier& tier : report.tiers) words += tier.limitOrigin + "\n";
    QVERIFY2(words.find(says.toStdString()) != words.npos, words.c_str());
    checkSums(report);
  }

  void twoGpusShareTheWork() {
    const Question one{"llama-3-8b", "2x-h200", 512 * GiB, 0, 1};
    Question two = one;
    two.gpus = 2;
    const PlanReport alone = plan(one), both = plan(two);
    QCOMPARE(alone.gpus, 1);
    QCOMPARE(both.gpus, 2);
    QVERIFY(both.time.tokensPerSecond > 1.3 * alone.time.tokensPerSecond);
    QVERIFY(both.time.tokensPerSecond <= 2.05 * alone.time.tokensPerSecond);
    PlanOptions tooMany = optionsOf(one);
    tooMany.gpus = 3;
    const auto refused = planProject(m_files, projectOf(one), "8b", machineOf(one), tooMany);
    QVERIFY(!refused && refused.error().message.find("--gpus 3") != std::string::npos);
  }

  void adviceIsForWhatItSays_data() {
    QTest::addColumn<Question>("question");
    QTest::addColumn<QString>("among"); // the first change of one that must be there
    const auto row = [](const char* name, const Question& question, const char* among) {
      QTest::newRow(name) << question << QString(among);
    };
    row("little work a step", {"llama-2-7b", "rtx-4090", 128'000'000'000, 0, 0, {"training.micro_batches=2"}},
        "training.micro_batches");
    row("worn by checkpoints", {"llama-2-7b", "rtx-4090", 128'000'000'000}, "checkpoint.every_minutes");
    row("state on NVMe", {"llama-2-13b", "rtx-4090", 128'000'000'000, 2 * terabyte}, "training.clip");
    row("checkpoints by steps",
        {"llama-2-7b", "h100", 256 * GiB, 0, 0, {"checkpoint.every=10", "training.precision=fp32"}},
        "training.precision");
    row("tokens a step are given",
        {"gpt2-1.5b",
         "rtx-4090",
         64 * GiB,
         0,
         0,
         {"training.tokens_per_step=131072", "training.micro_batch=64", "memory.vram_limit=3GiB"}},
        "training.context");
    row("does not fit", {"llama-2-13b", "rtx-4090", 128'000'000'000}, "memory.nvme.directories");
  }
  /// Verdict, rate, bytes and wear of the changed plan are those that were promised.
  void adviceIsForWhatItSays() {
    QFETCH(Question, question);
    QFETCH(QString, among);
    const PlanReport base = plan(question);
    bool found = false;
    for (const PlanAdvice& advice : base.advice) {
      if (advice.addRam + advice.addDisk > 0) continue;
      found = found || advice.changes.front().key == among.toStdString();
      Question changed = question;
      for (const ProjectChange& change : advice.changes) {
        for (const std::string& other : excludedKeys(change.key)) // as in a file, where the new key takes their place
          std::erase_if(changed.settings, [&](const std::string& set) { return set.starts_with(other + "="); });
        changed.settings.push_back(change.key + "=" + change.value);
      }
      PlanOptions options = optionsOf(changed);
      options.advice = false;
      const PlanReport report = planOf(changed, machineOf(changed), options);
      QVERIFY2(qFuzzyCompare(report.time.tokensPerSecond, advice.tokensPerSecond), advice.text.c_str());
      QVERIFY2(report.verdict == advice.verdict, advice.text.c_str());
      QCOMPARE(report.tiers[0].needed - base.tiers[0].needed, advice.vram);
      QCOMPARE(report.tiers[1].needed - base.tiers[1].needed, advice.ram);
      QCOMPARE(report.tiers[2].needed - base.tiers[2].needed, advice.nvme);
      const double more = (report.run.writtenPerDay - base.run.writtenPerDay) / 1e12;
      QVERIFY2(std::abs(more - advice.terabytesPerDay) < 1e-6, advice.text.c_str());
    }
    QVERIFY(found);
  }

 private:
  Project projectOf(const Question& question) {
    const bool number = std::isdigit(static_cast<unsigned char>(question.model.front())) != 0;
    ModelConfig config =
        number ? valueOrThrow(modelOfSize(std::stod(question.model))) : valueOrThrow(presetConfig(question.model));
    return valueOrThrow(
        projectOfModel(m_files, question.model, ModelSource(std::move(config)), true, question.settings));
  }
  HardwareProfile machineOf(const Question& question) { return valueOrThrow(findMachine(m_files, question.machine)); }
  static PlanOptions optionsOf(const Question& question) {
    PlanOptions options;
    if (question.ram > 0) options.budgets.ram = question.ram;
    if (question.nvme > 0) options.budgets.disk = question.nvme;
    options.nvme = question.nvme > 0;
    options.gpus = question.gpus;
    return options;
  }
  static PlanOptions quick() {
    PlanOptions options;
    options.advice = false;
    return options;
  }
  PlanReport planOf(const Question& question, const HardwareProfile& machine, const PlanOptions& options) {
    return valueOrThrow(planProject(m_files, projectOf(question), question.model, machine, options));
  }
  PlanReport plan(const Question& question) { return planOf(question, machineOf(question), optionsOf(question)); }

  static void checkSums(const PlanReport& report) {
    QCOMPARE(report.tiers.size(), std::size_t{3});
    for (const PlannedTier& tier : report.tiers) {
      const Bytes sum = std::accumulate(tier.categories.begin(), tier.categories.end(), Bytes{0},
                                        [](Bytes so, const PlannedCategory& category) { return so + category.bytes; });
      QCOMPARE(sum, tier.needed);
    }
    const PlannedPlacement& placement = report.placement;
    QCOMPARE(placement.streamed + placement.weightsOnDevice + placement.onDevice + placement.momentsOnDisk +
                 placement.onDisk,
             report.layers + 1);
    QVERIFY(!report.time.bottleneck.empty());
  }

  /// Every piece of advice to a plan that does not fit makes it fit.
  void takeAdvice(const Question& question, const PlanReport& report) {
    QVERIFY(!report.advice.empty());
    for (const PlanAdvice& advice : report.advice) {
      Question changed = question;
      HardwareProfile machine = machineOf(question);
      machine.memory.total = machine.memory.available = machine.memory.usable = question.ram + advice.addRam;
      changed.ram = 0;
      for (DiskFacts& disk : machine.disks) {
        disk.ratedEndurance =
            static_cast<Bytes>(static_cast<double>(disk.ratedEndurance) *
                               static_cast<double>(disk.total + advice.addDisk) / static_cast<double>(disk.total));
        disk.total += advice.addDisk;
        disk.free += advice.addDisk;
      }
      PlanOptions options = optionsOf(changed);
      for (const ProjectChange& change : advice.changes) {
        changed.settings.push_back(change.key + "=" + change.value);
        options.nvme = options.nvme || change.key == "memory.nvme.directories";
      }
      const PlanReport better = planOf(changed, machine, options);
      QVERIFY2(better.fits(), advice.text.c_str());
      QVERIFY2(better.verdict == advice.verdict, advice.text.c_str());
    }
  }

  MemoryFileSystem m_files;
};

QTEST_GUILESS_MAIN(TestPlan)
#include "test_plan.moc"
