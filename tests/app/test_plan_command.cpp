#include "app/program.h"

#include <QFileInfo>
#include <QRegularExpression>

using namespace millrace::test;

namespace {

/// The "(N bytes)" of a message; -1 when there is none.
qint64 bytesNamed(const QByteArray& message) {
  const auto match = QRegularExpression("\\((\\d+) bytes\\)").match(QString::fromUtf8(message));
  return match.hasMatch() ? match.captured(1).toLongLong() : -1;
}

} // namespace

class TestPlanCommand : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_project = writeTinyProject(m_folder->path(), "tiny", 10);
  }

  void tellsBytesByTierAndCategory() {
    QVERIFY(QFile::remove(m_folder->filePath("geese.txt"))); // it needs no data
    const Outcome outcome = runProgram({"plan", m_project, "--json"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QJsonObject plan = outcome.object();
    QCOMPARE(plan["verdict"].toString(), "fits");
    QCOMPARE(plan["project"].toString(), "tiny");
    QCOMPARE(plan["clip"].toString(), "exact");
    QCOMPARE(plan["layers"].toInt(), 3);
    QCOMPARE(plan["tokens_per_step"].toInt(), 2 * 2 * 32);
    const QJsonObject tiers = plan["tiers"].toObject();
    QCOMPARE(tiers.keys(), QStringList({"nvme", "ram", "vram"}));
    for (const char* name : {"vram", "ram", "nvme"}) {
      const QJsonObject tier = tiers[name].toObject();
      qint64 sum = 0;
      const QJsonObject categories = tier["categories"].toObject();
      for (const QString& category : categories.keys()) sum += categories[category].toInteger();
      QCOMPARE(sum, tier["bytes"].toInteger());
      QCOMPARE(sum > 0, QByteArray(name) != "nvme");
      QVERIFY(sum <= tier["limit"].toInteger());
    }
    QCOMPARE(tiers["vram"]["limit"].toInteger(), 4 << 20);
    QCOMPARE(tiers["ram"]["limit_origin"].toString(), "memory.ram_limit");
    const qint64 parameters = plan["parameters"].toInteger();
    QCOMPARE(plan["state_bytes"].toInteger(), 12 * parameters);
    QCOMPARE(plan["peak_state_bytes"].toInteger(), 16 * parameters);
    // Two Adam moments of 4 bytes for every parameter, wherever they are.
    const auto moments = [&](const char* tier) { return tiers[tier]["categories"]["moments"].toInteger(); };
    QVERIFY(moments("vram") + moments("ram") >= 8 * parameters);
    QVERIFY(plan["step_seconds"].toDouble() > 0);
    QVERIFY(plan["tokens_per_second"]["low"].toDouble() < plan["tokens_per_second"]["high"].toDouble());
    QVERIFY(!plan["bottleneck"].toString().isEmpty());
    QVERIFY(plan["advice"].isArray());
    QCOMPARE(plan["run"]["checkpoint_bytes"].toInteger(), 12 * parameters);
    QCOMPARE(plan["run"]["token_cache_bytes"].toInteger(), 0); // nobody knows
  }

  void textSaysTheSame() {
    const qint64 text = QFileInfo(m_folder->filePath("geese.txt")).size();
    const QJsonObject json = runProgram({"plan", m_project, "--json"}).object();
    QCOMPARE(json["run"]["token_cache_bytes"].toInteger(), text);
    const Outcome outcome = runProgram({"plan", m_project});
    QCOMPARE(outcome.code, 0);
    for (const char* words : {"tiny: fits on this machine (the CPU)", "vram ", "ram ", "memory.vram_limit", "moments",
                              "12 bytes a parameter", "tokens/s", "bound by", "a checkpoint is", "token files"})
      QVERIFY2(outcome.out.contains(words), outcome.out.constData());
  }

  void limitsThatAreNotSetComeFromTheMachine() {
    const Outcome outcome =
        runProgram({"plan", m_project, "--json", "--set", "memory.vram_limit=null", "memory.ram_limit=null"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QJsonObject tiers = outcome.object()["tiers"].toObject();
    const qint64 free = runProgram({"hw", "--json"}).object()["memory"].toObject()["usable"].toInteger();
    const qint64 device = tiers["vram"]["limit"].toInteger();
    const qint64 limits = device + tiers["ram"]["limit"].toInteger();
    QVERIFY(device > 0);
    QVERIFY(limits <= free + free / 5); // what is free changes between the two calls
  }

  void tooSmallSaysHowMuchIsNeeded_data() {
    QTest::addColumn<QString>("key");
    QTest::addColumn<QByteArray>("tier");
    QTest::newRow("device") << "memory.vram_limit" << QByteArray("device memory is too small");
    QTest::newRow("host") << "memory.ram_limit" << QByteArray("host memory is too small");
  }
  void tooSmallSaysHowMuchIsNeeded() {
    QFETCH(QString, key);
    QFETCH(QByteArray, tier);
    const auto plan = [&](qint64 limit) { // all of it could be in device memory
      return runProgram({"plan", m_project, "--json", "--set", "memory.placement=ram", "--set",
                         QString("%1=%2").arg(key).arg(limit)});
    };
    const Outcome small = plan(20000);
    QCOMPARE(small.code, 3);
    QVERIFY2(isOneError(small, {tier, key.toUtf8()}), small.error.constData());
    QCOMPARE(small.object()["verdict"].toString(), "does_not_fit");
    QVERIFY(small.object()["reasons"].toArray().at(0).toString().contains(QString::fromUtf8(tier)));
    const qint64 needed = bytesNamed(small.error);
    QVERIFY(needed > 20000);
    const Outcome enough = plan(needed);
    QVERIFY2(enough.code == 0, enough.error.constData());
    QCOMPARE(plan(needed - 1).code, 3); // not a byte too much was asked for
  }

  void refuses_data() {
    QTest::addColumn<QString>("setting");
    QTest::addColumn<QByteArray>("word");
    QTest::newRow("unknown key") << "training.step=5" << QByteArray("training.steps");
    QTest::newRow("no value") << "training.steps" << QByteArray("training.steps");
    QTest::newRow("a GPU that this build cannot use") << "training.device=cuda:0" << QByteArray("cuda:0");
    QTest::newRow("beyond counting") << "training.context=9000000000000000" << QByteArray("context");
    QTest::newRow("a model that is none") << "model.config.num_attention_heads=5" << QByteArray("num_attention_heads");
  }
  void refuses() {
    QFETCH(QString, setting);
    QFETCH(QByteArray, word);
    const Outcome outcome = runProgram({"plan", m_project, "--set", setting});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {word}), outcome.error.constData());
    QVERIFY(outcome.out.isEmpty());
  }

  void modelsAndMachinesByName() {
    const Outcome outcome =
        runProgram({"plan", "--model", "llama-2-7b", "--machine", "rtx-4090", "--ram", "128GB", "--tokens", "1e9",
                    "--kwh-price", "0.4", "--set", "training.micro_batches=16", "training.context=1024", "--json"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QJsonObject plan = outcome.object();
    QCOMPARE(plan["verdict"].toString(), "tight");
    QCOMPARE(plan["parameters"].toInteger(), 6'738'415'616);
    QCOMPARE(plan["tokens_per_step"].toInteger(), 16 * 1024);
    QCOMPARE(plan["machine"].toString(), "RTX 4090");
    QCOMPARE(plan["gpus"].toInt(), 1);
    QCOMPARE(plan["run"]["tokens"].toDouble(), 1e9);
    QVERIFY(plan["run"]["cost"].toDouble() > 0);
    QCOMPARE(plan["rates"].toString(), "assumed");
    const Outcome size = runProgram({"plan", "--model-size", "30M", "--json"});
    QVERIFY2(size.code == 0, size.error.constData());
    QCOMPARE(size.object()["gpus"].toInt(), 0);
    const Outcome large = runProgram({"plan", "--model-size", "101e9", "--machine", "rtx-3090"});
    QCOMPARE(large.code, 3);
    QVERIFY(large.out.contains("what would make it fit"));
  }

  void layersAreTimedOnRequest() {
    const Outcome outcome = runProgram({"plan", m_project, "--rehearse", "--json"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    QCOMPARE(outcome.object()["rates"].toString(), "rehearsed");
    QVERIFY(outcome.object()["step_seconds"].toDouble() > 0);
    QCOMPARE(runProgram({"plan", m_project, "--rehearse", "--machine", "h100"}).code, 2);
  }

  void whatIsPlannedIsNamedOnce_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::newRow("nothing") << QStringList{};
    QTest::newRow("two") << QStringList{"--model", "llama-2-7b", "--model-size", "1e9"};
    QTest::newRow("no such preset") << QStringList{"--model", "llama-2-8b"};
    QTest::newRow("no such machine") << QStringList{"--model", "llama-2-7b", "--machine", "rtx-4091"};
    QTest::newRow("bytes") << QStringList{"--model", "llama-2-7b", "--machine", "h100", "--vram", "24"};
    QTest::newRow("no count") << QStringList{"--model-size", "7X"};
    QTest::newRow("no size") << QStringList{"--model", "llama-2-7b", "--machine", "h100", "--ram", "much"};
    QTest::newRow("more GPUs than there are")
        << QStringList{"--model", "llama-2-7b", "--machine", "h100", "--gpus", "2"};
    QTest::newRow("a setting that is none") << QStringList{"--model", "llama-2-7b", "--set", "training.contxt=1"};
  }
  void whatIsPlannedIsNamedOnce() {
    QFETCH(QStringList, arguments);
    const Outcome outcome = runProgram(QStringList{"plan"} + arguments);
    QCOMPARE(outcome.code, 2);
    QVERIFY2(outcome.error.startsWith("millrace: ") && outcome.error.count('\n') == 1, outcome.error.constData());
  }

  void valuesThatAreNoneAreNamed_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("option");
    for (const char* option : {"--model-size", "--tokens", "--kwh-price"})
      for (const char* value : {"nan", "inf", "-inf", "much"})
        QTest::addRow("%s %s", option, value) << QStringList{option, value} << QByteArray(option);
    QTest::newRow("watch") << QStringList{"watch", "nan"} << QByteArray("--wait");
    QTest::newRow("bench") << QStringList{"bench", "nan"} << QByteArray("--seconds");
    for (const char* option : {"--ram", "--vram", "--nvme"})
      QTest::newRow(option) << QStringList{"--model-size", "1e9", option, "0"} << QByteArray(option);
    QTest::newRow("no machine") << QStringList{"--model-size", "1e9", "--machine", ""} << QByteArray("--machine");
  }
  void valuesThatAreNoneAreNamed() {
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, option);
    if (arguments.front() == "watch")
      arguments = QStringList{"watch", m_folder->path(), "--wait", arguments.back()};
    else if (arguments.front() == "bench")
      arguments = QStringList{"bench", "machine", "--seconds", arguments.back()};
    else
      arguments.prepend("plan");
    const Outcome outcome = runProgram(arguments);
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {option + ": ", "expected"}), outcome.error.constData());
  }

  void whatIsNotKnownIsNull() {
    const Outcome outcome = runProgram({"plan", m_project, "--json", "--set", "training.epochs=2"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QJsonObject run = outcome.object()["run"].toObject();
    for (const char* key : {"tokens", "seconds", "kwh", "checkpoint_pause_seconds"})
      QVERIFY2(run[key].isNull() && run.contains(key), key);
    QVERIFY(outcome.out.contains("give --tokens N"));
    QVERIFY(
        runProgram({"plan", m_project, "--tokens", "1000", "--json"}).object()["run"].toObject()["seconds"].toDouble() >
        0);
  }

  void aPlanThatNobodyGetsIsAFailure() {
    for (const char* limit : {"64MiB", "20000"}) { // fits, does not
      Child child({"plan", m_project, "--json", "--set", QString("memory.ram_limit=%1").arg(limit)});
      child.process().setStandardOutputFile("/dev/full");
      QVERIFY(child.start());
      const Outcome outcome = child.wait();
      QCOMPARE(outcome.code, 1);
      QVERIFY2(outcome.error.contains("cannot write to standard output"), outcome.error.constData());
    }
  }

  /// What was measured goes into the saved machine, so that plans for it are plans for this one.
  void aSavedMachineIsThisOne() {
    const QStringList environment{"XDG_CACHE_HOME=" + m_folder->filePath("cache")};
    const auto run = [&](const QStringList& arguments) { return runProgram(arguments, {}, environment); };
    QVERIFY(run({"hw"}).out.contains("memory usable"));
    QCOMPARE(run({"bench", "machine", "--seconds", "0.001"}).code, 0);
    const QString file = m_folder->filePath("own.json");
    const Outcome shown = run({"hw", "--json", "--save", file});
    QVERIFY2(shown.code == 0, shown.error.constData());
    const QJsonObject rates = shown.object()["host_rates"].toObject();
    for (const char* key : {"memory", "adamw", "adamw_split"}) {
      QCOMPARE(rates[key].toObject()["origin"].toString(), "measured");
      QVERIFY(!rates[key].toObject()["measured_at"].toString().isEmpty());
    }
    QVERIFY(run({"hw"}).out.contains("measured 20"));
    for (const char* precision : {"fp32", "bf16"}) {
      const QStringList plan{"plan",
                             m_project,
                             "--json",
                             "--set",
                             QString("training.precision=%1").arg(precision),
                             "training.threads=null"};
      const QJsonObject here = run(plan).object(), saved = run(plan + QStringList{"--machine", file}).object();
      QCOMPARE(here["rates"].toString(), "measured");
      for (const char* key : {"rates", "step_seconds", "resource_seconds", "bottleneck", "placement"})
        QVERIFY2(here[key] == saved[key] && !here[key].isUndefined(), key);
    }
    writeFile(m_folder->filePath("cache/millrace/rates.json"), "{");
    const Outcome damaged = run({"plan", m_project});
    QVERIFY2(damaged.out.contains("the rates are assumed: the cache of measured rates is damaged"), damaged.out);
  }

  void hardwareAsJson() {
    const Outcome outcome = runProgram({"hw", "--json", m_folder->path()});
    QCOMPARE(outcome.code, 0);
    const QJsonObject machine = outcome.object();
    QVERIFY(machine["cpu"]["usable_cores"].toInt() >= 1);
    QVERIFY(machine["memory"]["total"].toInteger() >= machine["memory"]["usable"].toInteger());
    QCOMPARE(machine["disks"].toArray().size(), 1);
    QCOMPARE(machine["disks"][0]["folder"].toString(), m_folder->path());
    QVERIFY(machine["notices"].isArray());
    QVERIFY(runProgram({"hw"}).out.contains("memory usable"));
  }

 private:
  std::unique_ptr<QTemporaryDir> m_folder;
  QString m_project;
};

QTEST_GUILESS_MAIN(TestPlanCommand)
#include "test_plan_command.moc"
