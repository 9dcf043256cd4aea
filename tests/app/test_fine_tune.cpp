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
