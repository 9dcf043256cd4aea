#include "app/run_files.h"

using namespace millrace::test;

/// generate, eval, export and bench as a user calls them, on a run of a few steps. What they compute is tested in
/// tests/api.
class TestModelCommands : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    QVERIFY(m_folder.isValid());
    m_project = writeTinyProject(m_folder.path(), "goose", 30);
    m_run = m_folder.filePath("run");
    const Outcome outcome = runProgram({"train", m_project, "--run-dir", m_run});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
  }

  void generatesTheSameFromRunCheckpointAndExport() {
    const QStringList settings{"--prompt", "The ", "--tokens", "12", "--seed", "7", "--json"};
    const QString folder = m_folder.filePath("exported");
    const Outcome exported = runProgram({"export", m_run, folder, "--json"});
    QVERIFY2(exported.code == 0, exported.error.constData());
    QCOMPARE(exported.object()["step"].toInt(), 30);
    for (const QJsonValue& file : exported.object()["files"].toArray())
      QVERIFY2(QFile::exists(folder + "/" + file.toString()), qPrintable(file.toString()));

    QString text;
    for (const QString& source : {m_run, newestCheckpoint(m_run), folder}) {
      const Outcome outcome = runProgram(QStringList{"generate", source} + settings);
      QVERIFY2(outcome.code == 0, outcome.error.constData());
      QCOMPARE(outcome.object()["prompt"].toString(), QString("The "));
      QVERIFY(outcome.object()["tokens"].toInt() > 0);
      if (text.isEmpty()) text = outcome.object()["text"].toString();
      QCOMPARE(outcome.object()["text"].toString(), text);
    }
    QVERIFY(!text.isEmpty());
  }

  void answersWithATemplate() {
    // A model of 64 positions, and tokens that are hardly longer than letters.
    const QString file = m_folder.filePath("short.jinja");
    writeFile(file, "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\n{% endfor %}"
                    "{% if add_generation_prompt %}a:{% endif %}");
    const QStringList settings{"--tokens", "4", "--seed", "7", "--json"};
    const QStringList chat{"generate", m_run, "--chat", "--template", file, "--system", "Hm."};
    const Outcome once = runProgram(chat + QStringList{"--prompt", "Goose?"} + settings);
    QVERIFY2(once.code == 0, once.error.constData());
    const QString prompt = once.object()["prompt"].toString();
    QCOMPARE(prompt, QString("s:Hm.\nu:Goose?\na:"));
    const Outcome same = runProgram(QStringList{"generate", m_run, "--prompt", prompt} + settings);
    QCOMPARE(once.object()["text"], same.object()["text"]);

    const Outcome lines = runProgram(chat + settings, "Goose?\n\nRiver?\n");
    QVERIFY2(lines.code == 0, lines.error.constData());
    const QList<QByteArray> answers = lines.out.trimmed().split('\n');
    QCOMPARE(answers.size(), 2);
    const QJsonObject first = QJsonDocument::fromJson(answers[0]).object();
    QCOMPARE(first["text"], once.object()["text"]);
    QCOMPARE(QJsonDocument::fromJson(answers[1]).object()["prompt"].toString(),
             prompt + first["text"].toString() + "\nu:River?\na:");

    const Outcome builtIn =
        runProgram({"generate", m_run, "--chat", "--built-in", "plain", "--prompt", "Hi", "--tokens", "4"});
    QVERIFY2(builtIn.code == 0, builtIn.error.constData());
    const Outcome without = runProgram({"generate", m_run, "--chat", "--prompt", "Hi"});
    QCOMPARE(without.code, 2);
    QVERIFY2(without.error.contains("chat template") && without.error.contains("built-in"), without.error.constData());
  }

  void streamsText() {
    const Outcome outcome =
        runProgram({"generate", m_run, "--prompt", "The", "--tokens", "8", "--temperature", "0", "--threads", "1"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    QVERIFY2(outcome.out.startsWith("The"), outcome.out.constData());
    QVERIFY(outcome.out.endsWith('\n'));
  }

  void evaluatesWhatTheRunHeldBack() {
    const Outcome outcome = runProgram({"eval", m_run, "--json"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    double expected = 0;
    for (const QByteArray& line : readFile(m_run + "/events.jsonl").split('\n')) {
      const QJsonObject event = QJsonDocument::fromJson(line).object();
      if (event["event"] == "evaluation") expected = event["loss"].toDouble();
    }
    QVERIFY(expected > 0);
    const QJsonObject result = outcome.object();
    // The trainer computes in other row counts: equal within rounding.
    QVERIFY2(std::abs(result["loss"].toDouble() / expected - 1) < 1e-5, outcome.out.constData());
    QVERIFY(std::abs(result["perplexity"].toDouble() / std::exp(result["loss"].toDouble()) - 1) < 1e-9);
    QVERIFY(result["bits_per_byte"].toDouble() > 0);
  }

  void evaluatesOtherText() {
    const QString path = m_folder.filePath("other.txt");
    writeFile(path, "The 5th goose walked to the river and the river said 4.\n");
    const Outcome near = runProgram({"eval", m_run, "--data", path, "--json"});
    QVERIFY2(near.code == 0, near.error.constData());
    writeFile(path, "zzq#xxv%kkj@wwp^yyb&qqg*zzn!jjx~vvk\n");
    const Outcome far = runProgram({"eval", m_run, "--data", path, "--json"});
    QVERIFY2(far.code == 0, far.error.constData());
    QVERIFY(far.object()["bits_per_byte"].toDouble() > near.object()["bits_per_byte"].toDouble());
  }

  void exportedInBf16IsHalfAsLarge() {
    const QString folder = m_folder.filePath("narrow");
    const Outcome outcome = runProgram({"export", m_run, folder, "--type", "bf16"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QString config = QString(readFile(folder + "/config.json"));
    QVERIFY2(config.contains("bfloat16"), qPrintable(config));
    const qint64 wide = readFile(m_folder.filePath("exported") + "/model.safetensors").size(),
                 narrow = readFile(folder + "/model.safetensors").size();
    QVERIFY(narrow > 0 && narrow < wide * 6 / 10);
  }

  void nothingIsWrittenOverAFolderInUse() {
    const QString folder = m_folder.filePath("taken");
    QVERIFY(QDir().mkpath(folder));
    writeFile(folder + "/notes.txt", "mine");
    const Outcome outcome = runProgram({"export", m_run, folder});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {folder.toUtf8(), "not empty"}), outcome.error.constData());
    QCOMPARE(QDir(folder).entryList(QDir::Files), QStringList{"notes.txt"});
  }

  /// Whenever export is killed, either nothing or the whole folder stands under its name, and the next export works.
  void aKilledExportLeavesNothingHalf() {
    for (const int moment : {0, 5, 10, 15, 20, 30}) {
      const QString folder = m_folder.filePath(QString("killed%1").arg(moment));
      Child child({"export", m_run, folder});
      QVERIFY(child.start());
      if (!child.process().waitForFinished(moment)) child.signal(SIGKILL);
      child.wait();
      if (!QFile::exists(folder)) {
        const Outcome again = runProgram({"export", m_run, folder});
        QVERIFY2(again.code == 0, again.error.constData());
      }
      QCOMPARE(runProgram({"generate", folder, "--prompt", "The", "--tokens", "1"}).code, 0);
      QCOMPARE(QDir(m_folder.path()).entryList({QString("killed%1.*").arg(moment)}, QDir::AllEntries | QDir::Hidden),
               QStringList());
    }
  }

  void refusals_data() {
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QByteArray>("word");
    QTest::newRow("generate, no model") << QStringList{"generate", "missing"} << QByteArray("missing");
    QTest::newRow("eval, no model") << QStringList{"eval", "missing"} << QByteArray("missing");
    QTest::newRow("export, no model") << QStringList{"export", "missing", "out"} << QByteArray("missing");
    QTest::newRow("bench, no project") << QStringList{"bench", "step", "missing.json"} << QByteArray("missing.json");
    QTest::newRow("negative temperature")
        << QStringList{"generate", m_run, "--temperature", "-1"} << QByteArray("temperature");
    QTest::newRow("top-p above one") << QStringList{"generate", m_run, "--top-p", "1.5"} << QByteArray("top");
    QTest::newRow("eval of a missing file")
        << QStringList{"eval", m_run, "--data", "missing.txt"} << QByteArray("missing.txt");
    QTest::newRow("shards of no size") << QStringList{"export", m_run, "out", "--shard-size", "0"}
                                       << QByteArray("shard");
  }
  void refusals() {
    QFETCH(QStringList, arguments);
    QFETCH(QByteArray, word);
    const Outcome outcome = runProgram(arguments);
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {word}), outcome.error.constData());
  }

  void aLimitTooSmallIsExitThree() {
    const Outcome outcome = runProgram({"generate", m_run, "--prompt", "The", "--vram-limit", "4KiB"});
    QCOMPARE(outcome.code, 3);
    QVERIFY2(isOneError(outcome, {"needed"}), outcome.error.constData());
  }

  void benchesGiveRates() {
    const Outcome step = runProgram({"bench", "step", m_project, "--rounds", "1", "--steps", "1", "--json"});
    QVERIFY2(step.code == 0, step.error.constData());
    QVERIFY(step.object()["tokens_per_second"].toDouble() > 0);
    QVERIFY(step.object()["matrix_products"].toObject()["flops"].toDouble() > 0);
    for (const char* what : {"optimizer", "copy"}) {
      const Outcome outcome = runProgram({"bench", what, "--json"});
      QVERIFY2(outcome.code == 0, outcome.error.constData());
      QVERIFY2(!outcome.object().isEmpty(), outcome.out.constData());
    }
  }

 private:
  QTemporaryDir m_folder;
  QString m_project;
  QString m_run;
};

QTEST_GUILESS_MAIN(TestModelCommands)
#include "test_model_commands.moc"
