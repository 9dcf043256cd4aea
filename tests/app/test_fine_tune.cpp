// A chat model as transformers makes it, fine-tuned on ShareGPT data with masks and packing, beside the same run in
// PyTorch (tests/golden/fine_tune, which tests/support/fine_tune_oracle.py made); and the way there and back: plan,
// train, export, and what transformers makes of the result, where MILLRACE_ORACLE_PYTHON names a Python that has it.
#include "app/run_files.h"

using namespace millrace::test;

class TestFineTune : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    QVERIFY(m_folder.isValid());
    m_expected = QJsonDocument::fromJson(readFile(golden + "/expected.json")).object();
    const int rows = m_expected["rows"].toInt();
    QVERIFY(rows > 0);
    int batch = 8; // all rows of an epoch in each step
    while (rows % batch != 0) --batch;
    const QJsonObject project{
        {"format", 1},
        {"name", "chat"},
        {"model", QJsonObject{{"folder", golden + "/model"}}},
        {"data", QJsonObject{{"sources", golden + "/chats.jsonl"}, {"cache", "cache"}, {"validation_fraction", 0}}},
        {"training", QJsonObject{{"recipe", "fine-tune"},
                                 {"steps", m_expected["loss"].toArray().size()},
                                 {"context", m_expected["context"]},
                                 {"micro_batch", batch},
                                 {"micro_batches", rows / batch},
                                 {"learning_rate", m_expected["rate"]},
                                 {"schedule", "constant"},
                                 {"warmup_steps", 0},
                                 {"weight_decay", 0.1},
                                 {"threads", 2}}},
        {"memory", QJsonObject{{"vram_limit", "4MiB"}, {"ram_limit", "64MiB"}}},
    };
    m_project = m_folder.filePath("chat.json");
    writeFile(m_project, QJsonDocument(project).toJson());
    const Outcome planned = runProgram({"plan", m_project, "--json"});
    QVERIFY2(planned.code == 0, planned.error.constData());
    m_run = m_folder.filePath("run");
    const Outcome trained = runProgram({"train", m_project, "--run-dir", m_run});
    QVERIFY2(trained.code == 0, trained.error.constData());
  }

  void matchesPyTorch() {
    const QJsonArray losses = m_expected["loss"].toArray(), norms = m_expected["grad_norm"].toArray();
    const QList<QByteArray> lines = readFile(m_run + "/metrics.jsonl").trimmed().split('\n');
    QCOMPARE(lines.size(), losses.size());
    for (int i = 0; i < lines.size(); ++i) {
      const QJsonObject step = QJsonDocument::fromJson(lines[i]).object();
      const double loss = step["loss"].toDouble() / losses[i].toDouble() - 1,
                   norm = step["grad_norm"].toDouble() / norms[i].toDouble() - 1;
      QVERIFY2(std::abs(loss) < 1e-4, qPrintable(QString("step %1: loss off by %2").arg(i + 1).arg(loss)));
      QVERIFY2(std::abs(norm) < 1e-3, qPrintable(QString("step %1: norm off by %2").arg(i + 1).arg(norm)));
    }
  }

  /// Of a model that ended texts with another token than the template ends turns with: whoever generates with the
  /// result stops at the end of a turn. And the run goes on when the model's folder is gone.
  void aTurnsEndIsAnEndWhereverTheModelGoes() {
    const QString base = m_folder.filePath("base"), whole = m_folder.filePath("whole"), run = m_folder.filePath("cut");
    QVERIFY(QDir().mkpath(base));
    for (const QString& name : QDir(golden + "/model").entryList(QDir::Files))
      QVERIFY(QFile::copy(golden + "/model/" + name, base + "/" + name));
    for (const char* name : {"/config.json", "/generation_config.json"}) {
      QJsonObject settings = QJsonDocument::fromJson(readFile(base + name)).object();
      QCOMPARE(settings["eos_token_id"].toInt(), 2);
      settings["eos_token_id"] = 0;
      QVERIFY(QFile::remove(base + name));
      writeFile(base + name, QJsonDocument(settings).toJson());
    }
    const QStringList train{"train", m_project, "--set", "model.folder=" + base, "--json"};
    QCOMPARE(runProgram(train + QStringList{"--run-dir", whole}).code, 0);
    Child child(train + QStringList{"--run-dir", run});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":3,"));
    child.signal(SIGINT);
    QCOMPARE(child.wait().code, 4);
    QVERIFY(QDir(base).removeRecursively());
    const Outcome resumed = runProgram({"resume", run});
    QVERIFY2(resumed.code == 0, resumed.error.constData());
    compareRuns(run, whole);
    const QString exported = m_folder.filePath("turns");
    const Outcome outcome = runProgram({"export", run, exported});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    for (const char* name : {"/config.json", "/generation_config.json"})
      QCOMPARE(QJsonDocument::fromJson(readFile(exported + name)).object()["eos_token_id"],
               QJsonValue(QJsonArray{0, 2}));
    QCOMPARE(readFile(exported + "/chat_template.jinja"), readFile(golden + "/model/chat_template.jinja"));
    // Asked at once, without a config that knows: the template says what ends a turn.
    QStringList texts;
    for (const char* name : {"/config.json", "/generation_config.json"}) {
      QJsonObject settings = QJsonDocument::fromJson(readFile(exported + name)).object();
      const Outcome answer = runProgram({"generate", exported, "--chat", "--prompt", "What was the water at the mill?",
                                         "--tokens", "200", "--temperature", "0", "--json"});
      QVERIFY2(answer.code == 0, answer.error.constData());
      texts << answer.object()["stop"].toString() + ": " + answer.object()["text"].toString();
      settings["eos_token_id"] = 0;
      QVERIFY(QFile::remove(exported + name));
      writeFile(exported + name, QJsonDocument(settings).toJson());
    }
    QCOMPARE(texts[0], texts[1]);
    QVERIFY2(!texts[0].contains("<|im_end|>"), qPrintable(texts[0]));
  }

  /// The exported model, in transformers: the loss that PyTorch had after its run, and the same answers as here.
  void transformersGoesOn() {
    const QString python = qEnvironmentVariable("MILLRACE_ORACLE_PYTHON");
    if (python.isEmpty())
      QSKIP("MILLRACE_ORACLE_PYTHON does not name a Python with torch and transformers to compare with");
    const auto oracle = [&](const QStringList& arguments) {
      Child child(QStringList{script} + arguments, {}, python);
      Outcome outcome = child.start() ? child.wait() : Outcome();
      if (outcome.code != 0) qWarning("%s", outcome.error.constData());
      return outcome;
    };
    const QString exported = m_folder.filePath("exported");
    const Outcome outcome = runProgram({"export", m_run, exported});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const Outcome loss = oracle({"loss", golden, QString::number(m_expected["context"].toInt()), exported});
    QCOMPARE(loss.code, 0);
    QVERIFY2(std::abs(loss.object()["loss"].toDouble() / m_expected["loss_after"].toDouble() - 1) < 1e-4,
             loss.out.constData());

    const QString message = "What was the water at the river on day 8?";
    const Outcome theirs = oracle({"generate", exported, "24", message});
    QCOMPARE(theirs.code, 0);
    const Outcome ours = runProgram(
        {"generate", exported, "--chat", "--prompt", message, "--tokens", "24", "--temperature", "0", "--json"});
    QVERIFY2(ours.code == 0, ours.error.constData());
    QCOMPARE(ours.object()["prompt"], theirs.object()["prompt"]);
    QCOMPARE(ours.object()["text"], theirs.object()["text"]);
    QVERIFY(!ours.object()["text"].toString().isEmpty());
  }

 private:
  const QString golden = MILLRACE_TEST_DATA "/fine_tune",
                script = MILLRACE_SOURCE_DIR "/tests/support/fine_tune_oracle.py";
  QTemporaryDir m_folder;
  QJsonObject m_expected;
  QString m_project, m_run;
};

QTEST_GUILESS_MAIN(TestFineTune)
#include "test_fine_tune.moc"
