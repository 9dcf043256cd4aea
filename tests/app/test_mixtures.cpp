// Runs on sources that are drawn from by weight and name sets: what they tell, and that they go on as if they had never
// stopped, but not with other weights.
#include "app/run_files.h"

using namespace millrace::test;

class TestMixtures : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    QVERIFY(m_folder.isValid());
    m_project = writeTinyProject(m_folder.path(), "mixed", 60);
    QByteArray rows;
    for (int i = 0; i < 60; ++i)
      rows += "{\"text\": \"Row " + QByteArray::number(i) + " of the small source\", \"meta\": {\"pile_set_name\": \"" +
              (i % 2 == 0 ? "Even" : "Odd") + "\"}}\n";
    writeFile(m_folder.filePath("rows.jsonl"), rows);
    m_mixed = QStringList{
        "--set",
        R"(data.sources=[{"path": "geese.txt", "separator": "%", "weight": 3}, {"path": "rows.jsonl", "weight": 1}])",
        "--set",
        "evaluation.every=30",
        "--set",
        "data.validation_fraction=0.2"};
    m_whole = m_folder.filePath("whole");
    const Outcome outcome = runProgram(QStringList{"train", m_project, "--run-dir", m_whole} + m_mixed);
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    m_output = outcome.out;
  }

  void passesAreTold() {
    const QList<QByteArray> lines = readFile(m_whole + "/metrics.jsonl").trimmed().split('\n');
    QCOMPARE(lines.size(), 60);
    double before = 0;
    for (const QByteArray& line : lines) {
      const QJsonArray passes = QJsonDocument::fromJson(line).object()["passes"].toArray();
      QCOMPARE(passes.size(), 2);
      QVERIFY(passes[1].toDouble() > before);
      before = passes[1].toDouble();
    }
    QVERIFY(before > 1);
    QVERIFY2(m_output.contains("rows.jsonl has been gone over 1 times"), m_output.constData());
  }

  void lossOfEachSetIsTold() {
    QStringList sets;
    for (const QByteArray& line : readFile(m_whole + "/events.jsonl").split('\n')) {
      const QJsonObject event = QJsonDocument::fromJson(line).object();
      if (event["event"] != "evaluation") continue;
      sets.clear();
      double sum = 0, targets = 0;
      for (const QJsonValue& entry : event["sets"].toArray()) {
        sets.append(entry["name"].toString());
        sum += entry["loss"].toDouble() * entry["targets"].toDouble();
        targets += entry["targets"].toDouble();
      }
      QVERIFY(std::abs(sum / targets - event["loss"].toDouble()) < 1e-9);
    }
    QCOMPARE(sets, (QStringList{"", "Even", "Odd"}));
    QVERIFY2(m_output.contains("Even") && m_output.contains("(no set)"), m_output.constData());
    const Outcome outcome = runProgram({"eval", m_whole, "--json"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    QCOMPARE(QJsonDocument::fromJson(outcome.out).object()["sets"].toArray().size(), 3);
  }

  void stopsAndGoesOn() {
    const QString run = m_folder.filePath("stopped");
    Child child(QStringList{"train", m_project, "--run-dir", run, "--json"} + m_mixed);
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":20,"));
    child.signal(SIGINT);
    QCOMPARE(child.wait().code, 4);
    QVERIFY(figures(run).size() < 60);

    // Other weights are other data.
    const QByteArray described = readFile(run + "/run.json");
    QByteArray changed = described;
    QCOMPARE(changed.count("\"weight\": 3.0"), 1);
    changed.replace("\"weight\": 3.0", "\"weight\": 2.0");
    writeFile(run + "/run.json", changed);
    const Outcome refused = runProgram({"resume", run});
    QCOMPARE(refused.code, 2);
    QVERIFY2(isOneError(refused, {"the data, its weights or the tokenizer changed"}), refused.error.constData());

    writeFile(run + "/run.json", described);
    const Outcome resumed = runProgram({"resume", run});
    QVERIFY2(resumed.code == 0, resumed.error.constData());
    compareRuns(run, m_whole);
  }

  void oneWeightAlone() {
    const Outcome outcome = runProgram({"train", m_project, "--run-dir", m_folder.filePath("refused"), "--set",
                                        R"(data.sources=["geese.txt", {"path": "rows.jsonl", "weight": 1}])"});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {"data.sources.0.weight is missing"}), outcome.error.constData());
  }

 private:
  QTemporaryDir m_folder;
  QString m_project, m_whole;
  QStringList m_mixed;
  QByteArray m_output;
};

QTEST_GUILESS_MAIN(TestMixtures)
#include "test_mixtures.moc"
