#include "engine/hardware.h"
#include "engine/plan.h"
#include "engine/runs.h"
#include "engine/tokenizer.h"
#include "support/memory_file_system.h"

#include <QtTest>

using namespace millrace;

namespace {

constexpr const char* llama = R"({"model_type": "llama", "vocab_size": 512, "hidden_size": 64, "intermediate_size": 128,
  "num_hidden_layers": 4, "num_attention_heads": 4, "max_position_embeddings": 128, "rms_norm_eps": 1e-5})";

Project tinyProject() {
  Project project;
  project.name = "tiny";
  project.model = ModelConfig{{}, llama};
  project.tokenizer = TokenizerTraining{300, MiB};
  project.training.length = {LengthUnit::Steps, 10};
  project.training.microBatch = 2;
  project.training.microBatches = 4;
  project.training.context = 64;
  return project;
}

HardwareProfile machineWith(Bytes usable) {
  HardwareProfile profile;
  profile.memory.total = 2 * usable;
  profile.memory.usable = usable;
  return profile;
}

/// What the plan says that the program takes of host memory besides what is planned.
Bytes programOf(const PlanReport& report) {
  for (const PlannedCategory& category : report.tiers[1].categories)
    if (category.name == "program") return category.bytes;
  return 0;
}

} // namespace

/// What the programs call besides Run and the engine's own checks.
class TestFacades : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void cleanup() {
    for (const char* name : {"MILLRACE_RUNS", "XDG_DATA_HOME"}) qunsetenv(name);
  }

  void limitsComeFromTheProjectElseFromTheMachine() {
    Project project = tinyProject();
    const auto report = planProject(m_files, project, "p.json", machineWith(64 * GiB));
    QVERIFY2(report.has_value(), report ? "" : report.error().message.c_str());
    QVERIFY(report->fits());
    QVERIFY(report->tiers[0].limit > 0 && report->tiers[1].limit > 0);
    // The CPU's device memory is a part of the same RAM.
    QVERIFY(report->tiers[0].limit + report->tiers[1].limit <= 64 * GiB);
    QVERIFY(QString::fromStdString(report->tiers[0].limitOrigin).contains("memory.vram_limit is not set"));

    project.memory.vramLimit = 5 * MiB;
    project.memory.ramLimit = 7 * MiB;
    const auto limited = planProject(m_files, project, "p.json", machineWith(64 * GiB));
    QVERIFY(limited.has_value());
    QCOMPARE(limited->tiers[0].limit, 5 * MiB);
    QCOMPARE(limited->tiers[0].limitOrigin, std::string("memory.vram_limit"));
    QCOMPARE(limited->tiers[1].limit - programOf(*limited), 7 * MiB); // which counts what is planned
  }

  void aPlanThatDoesNotFitShowsTheSmallestSettings() {
    Project project = tinyProject();
    project.memory.vramLimit = 1000;
    const auto report = planProject(m_files, project, "p.json", machineWith(64 * GiB));
    QVERIFY(report.has_value());
    QVERIFY(!report->fits());
    QVERIFY(!report->tiers[0].fits());
    QVERIFY(report->tiers[1].fits());
    QVERIFY(report->reasons.front().find(std::to_string(report->tiers[0].needed) + " bytes") != std::string::npos);
    project.memory.vramLimit = report->tiers[0].needed;
    QVERIFY(planProject(m_files, project, "p.json", machineWith(64 * GiB))->fits());
  }

  void sizesBeyondCountingAreRefused() {
    Project project = tinyProject();
    project.training.context = INT64_C(1) << 50;
    const auto report = planProject(m_files, project, "p.json", machineWith(64 * GiB));
    QVERIFY(!report.has_value());
    QVERIFY(report.error().kind == ErrorKind::BadInput);
  }

  void devices_data() {
    QTest::addColumn<QString>("device");
    QTest::addColumn<bool>("good");
    QTest::newRow("auto") << "auto" << true;
    QTest::newRow("cpu") << "cpu" << true;
    QTest::newRow("no number") << "cuda:" << false;
    QTest::newRow("a number that is none") << "cuda:one" << false;
    QTest::newRow("something else") << "tpu" << false;
    QTest::newRow("empty") << "" << false;
  }
  void devices() {
    QFETCH(QString, device);
    QFETCH(bool, good);
    const Status status = checkDevice(device.toStdString(), "--device");
    QCOMPARE(status.has_value(), good);
    if (!good) QVERIFY(status.error().message.starts_with("--device is "));
  }

  void runsGoWhereTheEnvironmentSays() {
    qputenv("XDG_DATA_HOME", "/data");
    QCOMPARE(runsFolder()->string(), std::string("/data/millrace/runs"));
    qputenv("XDG_DATA_HOME", "not/absolute");
    const QByteArray home = qgetenv("HOME");
    qputenv("HOME", "/home/somebody");
    QCOMPARE(runsFolder()->string(), std::string("/home/somebody/.local/share/millrace/runs"));
    qputenv("HOME", home);
    qputenv("MILLRACE_RUNS", "/elsewhere");
    QCOMPARE(runsFolder()->string(), std::string("/elsewhere"));
  }

  void newRunsGetNamesOfTheirOwn() {
    const Project project = tinyProject();
    const Path first = newRunDirectory(m_files, "/runs", project, 1772373909);
    QCOMPARE(first.string(), std::string("/runs/tiny-20260301-140509"));
    QVERIFY(m_files.createDirectories(first).has_value());
    const Path second = newRunDirectory(m_files, "/runs", project, 1772373909);
    QCOMPARE(second.string(), std::string("/runs/tiny-20260301-140509-2"));
    // A folder that cannot be looked at: whoever makes the run in it is told why.
    QVERIFY(write("/file", "no folder"));
    QCOMPARE(newRunDirectory(m_files, "/file", project, 1772373909).string(),
             std::string("/file/tiny-20260301-140509"));
  }

  void whereNoRunIsOneStarts() {
    const auto decision = decideStart(m_files, "/runs/none", tinyProject());
    QVERIFY(decision.has_value());
    QVERIFY(decision->action == StartDecision::Action::Start);
    QVERIFY(runsIn(m_files, "/runs/none")->empty());
    QVERIFY(!runInfo(m_files, "/runs/none").has_value());
    QVERIFY(!requestOfRun(m_files, "/runs/none", RunRequest::Stop).has_value());
  }

  void tokenizersAreTrainedOnFilesOfEachKind() {
    QVERIFY(write("/text/plain", "the mill and the miller\n%\nthe water and the weir\n"));
    QVERIFY(write("/text/rows.jsonl", "{\"body\":\"the mill and the wheel\"}\n"));
    TokenizerTrainingOptions options;
    options.data = {"/text/plain", "/text/rows.jsonl"};
    options.separator = "%";
    options.textField = "body";
    options.vocabulary = 262;
    options.threads = 2;
    const auto trained = trainTokenizerFile(m_files, options, "/out/tokenizer.json");
    QVERIFY2(trained.has_value(), trained ? "" : trained.error().message.c_str());
    QCOMPARE(trained->vocabulary, 262);
    const auto codec = TextCodec::open(m_files, "/out/tokenizer.json");
    QVERIFY(codec.has_value());
    const auto ids = codec->encode(" the mill", false);
    QVERIFY(ids.has_value() && ids->size() < 9);
    QCOMPARE(*codec->decode(*ids, false), std::string(" the mill"));

    options.format = "csv";
    QVERIFY(!trainTokenizerFile(m_files, options, "/out/other.json").has_value());
    options.format = "auto";
    bool asked = false;
    const auto stopped = trainTokenizerFile(m_files, options, "/out/other.json", [&](const TokenizerTrainingProgress&) {
      asked = true;
      return false;
    });
    QVERIFY(asked);
    QVERIFY(!stopped.has_value() && stopped.error().kind == ErrorKind::Interrupted);
    QVERIFY(!m_files.exists("/out/other.json"));
  }

 private:
  bool write(const Path& path, std::string_view text) {
    if (!m_files.createDirectories(path.parent_path()) || !m_files.createDirectories("/out")) return false;
    const auto file = m_files.open(path, OpenMode::Create);
    return file && (*file)->write(std::as_bytes(std::span(text)), 0);
  }

  test::MemoryFileSystem m_files;
};

QTEST_GUILESS_MAIN(TestFacades)
#include "test_facades.moc"
