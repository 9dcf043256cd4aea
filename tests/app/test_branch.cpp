#include "app/program.h"
#include "app/run_files.h"

#include <QSet>

using namespace millrace::test;

/// A run that begins from a checkpoint of another one.
class TestBranch : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    m_project = writeTinyProject(m_folder.path(), "goose", 20);
    const Outcome whole = train(m_whole, {});
    QVERIFY2(whole.code == 0, whole.error.constData());
    m_figures = figures(m_whole);
    QCOMPARE(m_figures.size(), 20);
  }

  /// With the settings as they were a branch is the run that it leaves, to the bit, with all of its history.
  void unchangedItIsTheRun() {
    const QString branch = m_folder.filePath("unchanged");
    const Outcome outcome = train(branch, {"--branch", m_whole, "--branch-step", "10"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    compareRuns(branch, m_whole);
    QCOMPARE(evaluations(branch), evaluations(m_whole));
    const QJsonObject run = QJsonDocument::fromJson(readFile(branch + "/run.json")).object();
    QCOMPARE(run["branch"].toObject(), (QJsonObject{{"run", m_whole}, {"step", 10}}));
  }

  void settingsMayChange() {
    const QString branch = m_folder.filePath("changed");
    const Outcome outcome = train(branch, {"--branch", m_whole, "--branch-step", "10", "--set", "training.steps=15",
                                           "--set", "training.learning_rate=0.01"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    const QList<QByteArray> now = figures(branch);
    QCOMPARE(now.size(), 15);
    for (int step = 1; step <= 15; ++step) QCOMPARE(now[step - 1] == m_figures[step - 1], step <= 10);
  }

  /// Killed before it has a checkpoint of its own, it begins from the other run's once more.
  void resumedBeforeItsFirstCheckpoint() {
    const QString branch = m_folder.filePath("killed");
    QStringList arguments{"train",
                          m_project,
                          "--run-dir",
                          branch,
                          "--json",
                          "--branch",
                          m_whole,
                          "--set",
                          "checkpoint.every=0",
                          "--set",
                          "training.steps=2000",
                          "--branch-step",
                          "10"};
    {
      Child child(arguments);
      QVERIFY(child.start());
      QVERIFY(child.waitForOutput("\"step\":14,"));
      child.signal(SIGKILL);
      child.wait();
    }
    QCOMPARE(newestCheckpoint(branch), QString());
    Child child({"resume", branch, "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":14,"));
    child.signal(SIGINT);
    QCOMPARE(child.wait().code, 4);
    QVERIFY(!child.output().contains("\"step\":9,"));
    // Each step is there once.
    QSet<int> seen;
    for (const QByteArray& line : figures(branch)) seen.insert(QJsonDocument::fromJson(line).object()["step"].toInt());
    QCOMPARE(seen.size(), figures(branch).size());
    QVERIFY(seen.contains(1) && seen.contains(11));
  }

  /// Without --branch-step: the newest.
  void longerThanTheRun() {
    const QString branch = m_folder.filePath("longer");
    const Outcome outcome = train(branch, {"--branch", m_whole, "--set", "training.steps=24"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    QCOMPARE(figures(branch).size(), 24);
    QCOMPARE(figures(branch).mid(0, 20), m_figures);
  }

  void refused_data() {
    QTest::addColumn<QStringList>("options");
    QTest::addColumn<QByteArray>("words");
    const QString at = "10";
    QTest::newRow("context") << QStringList{"--branch-step", at, "--set", "training.context=16"}
                             << QByteArray("training.context");
    QTest::newRow("precision and seed") << QStringList{"--branch-step",           at,      "--set",
                                                       "training.precision=bf16", "--set", "training.seed=9"}
                                        << QByteArray("training.precision, training.seed");
    QTest::newRow("data") << QStringList{"--branch-step", at, "--set", "data.validation_fraction=0.2"}
                          << QByteArray("data.validation_fraction");
    QTest::newRow("no such step") << QStringList{"--branch-step", "11"} << QByteArray("choose one of");
    QTest::newRow("nothing left to do") << QStringList{"--branch-step", "20"} << QByteArray("training.steps is 20");
  }
  void refused() {
    QFETCH(QStringList, options);
    QFETCH(QByteArray, words);
    const QString branch = m_folder.filePath("refused");
    const Outcome outcome = train(branch, QStringList{"--branch", m_whole} + options);
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {words}), outcome.error.constData());
    QVERIFY(!QDir(branch).exists());
  }

  void itDoesNotReplaceTheRunThatItLeaves() {
    const Outcome outcome = train(m_whole + "/../whole", {"--branch", m_whole, "--branch-step", "10", "--replace"});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {"another folder"}), outcome.error.constData());
    QCOMPARE(figures(m_whole), m_figures);
  }

  /// Without a checkpoint of its own it needs that of the other run, and says which.
  void theCheckpointThatItNeedsIsGone() {
    const QString origin = m_folder.filePath("origin"), branch = m_folder.filePath("orphan");
    QVERIFY(train(origin, {"--set", "training.steps=10"}).code == 0);
    {
      Child child(
          {"train", m_project, "--run-dir", branch, "--json", "--branch", origin, "--set", "training.steps=5000"});
      QVERIFY(child.start());
      QVERIFY(child.waitForOutput("\"step\":12,"));
      child.signal(SIGKILL);
      child.wait();
    }
    QVERIFY(runProgram({"runs", "delete-checkpoints", origin}).code == 0);
    const Outcome outcome = runProgram({"resume", branch});
    QVERIFY2(outcome.code == 2 || outcome.code == 1, outcome.error.constData());
    QVERIFY2(outcome.error.contains("step-00000010"), outcome.error.constData());
    QVERIFY(figures(branch).size() >= 10); // what came before is still told
  }

  void aStepNeedsARun() {
    const Outcome outcome = train(m_folder.filePath("refused"), {"--branch-step", "10"});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {"--branch"}), outcome.error.constData());
  }

 private:
  Outcome train(const QString& run, const QStringList& options) {
    return runProgram(QStringList{"train", m_project, "--run-dir", run, "--set", "checkpoint.every=10", "--set",
                                  "checkpoint.keep=9", "--set", "evaluation.every=5"} +
                      options);
  }

  QTemporaryDir m_folder;
  const QString m_whole = m_folder.filePath("whole");
  QString m_project;
  QList<QByteArray> m_figures;
};

QTEST_GUILESS_MAIN(TestBranch)
#include "test_branch.moc"
