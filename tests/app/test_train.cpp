#include "app/run_files.h"

#include <QFileInfo>

using namespace millrace::test;

/// train and resume as processes: how they end, and what stands on the disk then.
class TestTrain : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void initTestCase() {
    QVERIFY(m_shared.isValid());
    m_project = writeTinyProject(m_shared.path(), "goose", steps);
    m_whole = m_shared.filePath("whole");
    const Outcome outcome = runProgram({"train", m_project, "--run-dir", m_whole});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    m_wholeOutput = outcome.out;
  }

  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_run = m_folder->filePath("run");
  }

  void trainsToTheEnd() {
    QCOMPARE(figures(m_whole).size(), steps);
    const QString checkpoint = newestCheckpoint(m_whole);
    QVERIFY(checkpoint.endsWith("step-00000200"));
    for (const QByteArray& words : {QByteArray("run:"), m_whole.toUtf8(), checkpoint.toUtf8(), QByteArray("sample"),
                                    QByteArray("step 200/200"), QByteArray("tokens/s")})
      QVERIFY2(m_wholeOutput.contains(words), m_wholeOutput.constData());
    QVERIFY(!m_wholeOutput.contains('\r')); // no terminal: no line is rewritten
    QCOMPARE(QFileInfo(m_whole).permissions() & (QFile::ReadGroup | QFile::ReadOther), QFile::Permissions());
  }

  void stopsAndGoesOn_data() {
    QTest::addColumn<int>("signal");
    QTest::newRow("SIGINT") << SIGINT;
    QTest::newRow("SIGTERM") << SIGTERM;
  }
  void stopsAndGoesOn() {
    QFETCH(int, signal);
    Child child({"train", m_project, "--run-dir", m_run, "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":20,"));
    child.signal(signal);
    const Outcome stopped = child.wait();
    QVERIFY(stopped.finished);
    QCOMPARE(stopped.code, 4);
    QVERIFY2(stopped.error.contains("millrace resume"), stopped.error.constData());
    QVERIFY(figures(m_run).size() < steps);
    QCOMPARE(runProgram({"check", "checkpoint", m_run}).code, 0);

    const Outcome resumed = runProgram({"resume", m_run});
    QVERIFY2(resumed.code == 0, resumed.error.constData());
    equalsTheWholeRun();
  }

  /// An evaluation that a signal cut off is made when the run goes on: none is missing, none is told twice.
  void anEvaluationThatWasCutOffIsMadeLater() {
    const QStringList often{"--set", "evaluation.every=5", "--set", "evaluation.rows=0", "--set", "training.steps=60"};
    const QString whole = m_folder->filePath("evaluated");
    QCOMPARE(runProgram(QStringList{"train", m_project, "--run-dir", whole} + often).code, 0);
    Child child(QStringList{"train", m_project, "--run-dir", m_run, "--json"} + often);
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"state\":\"evaluating\""));
    child.signal(SIGINT);
    QCOMPARE(child.wait().code, 4);
    const Outcome resumed = runProgram({"resume", m_run});
    QVERIFY2(resumed.code == 0, resumed.error.constData());
    QCOMPARE(evaluations(m_run), evaluations(whole));
    QCOMPARE(evaluations(whole).size(), 12);
    compareRuns(m_run, whole);
  }

  void aSecondSignalGivesTheSaveUp() {
    Child child({"train", m_project, "--run-dir", m_run, "--json", "--set", "checkpoint.every=10"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":25,"));
    child.signal(SIGINT);
    child.signal(SIGSTOP); // it cannot end meanwhile
    QTest::qSleep(1100);   // what follows within a second is the same signal
    child.signal(SIGTERM);
    child.signal(SIGCONT);
    const Outcome stopped = child.wait();
    QVERIFY(stopped.finished);
    QCOMPARE(stopped.code, 4);
    // Whether it came in time or not: every checkpoint that stands is whole.
    QCOMPARE(runProgram({"check", "checkpoint", m_run}).code, 0);
    const Outcome resumed = runProgram({"resume", m_run});
    QVERIFY2(resumed.code == 0, resumed.error.constData());
    equalsTheWholeRun();
  }

  /// Whoever stops a group of processes, and passes signals on, sends several.
  void signalsCloseTogetherAreOne() {
    Child child({"train", m_project, "--run-dir", m_run, "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":25,"));
    child.signal(SIGINT);
    child.signal(SIGTERM);
    child.signal(SIGINT);
    const Outcome stopped = child.wait();
    QCOMPARE(stopped.code, 4);
    QVERIFY(!newestCheckpoint(m_run).isEmpty()); // the only one: it was saved on the signal
    const Outcome resumed = runProgram({"resume", m_run});
    QVERIFY2(resumed.code == 0, resumed.error.constData());
    equalsTheWholeRun();
  }

  void aSignalBeforeTheFirstStepIsHeard() {
    Child child({"train", m_project, "--run-dir", m_run, "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"state\":\"preparing\""));
    child.signal(SIGTERM);
    const Outcome stopped = child.wait();
    QVERIFY(stopped.finished);
    QCOMPARE(stopped.code, 4);
    const Outcome resumed = runProgram({"resume", m_run});
    QVERIFY2(resumed.code == 0, resumed.error.constData());
    equalsTheWholeRun();
  }

  void aHangUpIsIgnored() {
    Child child({"train", m_project, "--run-dir", m_run, "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":5,"));
    child.signal(SIGHUP);
    QCOMPARE(child.wait().code, 0);
    equalsTheWholeRun();
  }

  void aClosedOutputIsIgnored() {
    Child child({"train", m_project, "--run-dir", m_run, "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":5,"));
    child.process().closeReadChannel(QProcess::StandardOutput);
    child.process().closeReadChannel(QProcess::StandardError);
    const Outcome outcome = child.wait();
    QVERIFY(outcome.finished);
    QCOMPARE(outcome.code, 0);
    equalsTheWholeRun();
  }

  void aFullDiskBehindTheOutputIsIgnored() {
    QProcess process;
    process.setStandardOutputFile("/dev/full");
    process.start(MILLRACE_PROGRAM, {"train", m_project, "--run-dir", m_run});
    QVERIFY(process.waitForFinished(patienceMs));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 0);
    equalsTheWholeRun();
  }

  void killedAndResumedOrStarted() {
    const QStringList command{"train", m_project, "--resume-or-start"};
    const QStringList environment{"MILLRACE_RUNS=" + m_folder->path()};
    m_run = m_folder->filePath("goose");
    Child child(command + QStringList{"--json", "--set", "checkpoint.every=10"}, environment);
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"event\":\"checkpoint\""));
    child.signal(SIGKILL);
    QVERIFY(!child.wait().finished);
    const Outcome resumed = runProgram(command, {}, environment);
    QVERIFY2(resumed.code == 0, resumed.error.constData());
    QVERIFY2(resumed.out.contains("settings differ"), resumed.out.constData()); // checkpoint.every was given once only
    equalsTheWholeRun();
    const Outcome again = runProgram(command, {}, environment);
    QCOMPARE(again.code, 0);
    QVERIFY2(again.out.contains("finished already"), again.out.constData());
    equalsTheWholeRun();
  }

  void anExistingRunIsNotTouched() {
    const QList<QByteArray> before = figures(m_whole);
    const Outcome outcome = runProgram({"train", m_project, "--run-dir", m_whole});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {m_whole.toUtf8()}), outcome.error.constData());
    QCOMPARE(figures(m_whole), before);
    const Outcome resumed = runProgram({"resume", m_whole});
    QCOMPARE(resumed.code, 2);
    QVERIFY2(isOneError(resumed, {"finished"}), resumed.error.constData());
  }

  void replaceBeginsAnew() {
    QCOMPARE(runProgram({"train", m_project, "--run-dir", m_run, "--set", "training.steps=3"}).code, 0);
    QCOMPARE(figures(m_run).size(), 3);
    // One that cannot begin leaves it as it is.
    const Outcome refused =
        runProgram({"train", m_project, "--run-dir", m_run, "--replace", "--set", "data.sources.path=missing.txt"});
    QCOMPARE(refused.code, 2);
    QCOMPARE(figures(m_run).size(), 3);
    const Outcome outcome = runProgram({"train", m_project, "--run-dir", m_run, "--replace"});
    QVERIFY2(outcome.code == 0, outcome.error.constData());
    equalsTheWholeRun();
  }

  void tooSmallALimitIsExitThree() {
    const Outcome outcome = runProgram({"train", m_project, "--run-dir", m_run, "--set", "memory.vram_limit=20000"});
    QCOMPARE(outcome.code, 3);
    QVERIFY2(isOneError(outcome, {"device memory is too small", "bytes"}), outcome.error.constData());
  }

  void missingDataIsExitTwo() {
    const Outcome outcome =
        runProgram({"train", m_project, "--run-dir", m_run, "--set", "data.sources.path=missing.txt"});
    QCOMPARE(outcome.code, 2);
    QVERIFY2(isOneError(outcome, {"missing.txt"}), outcome.error.constData());
  }

 private:
  void equalsTheWholeRun() { compareRuns(m_run, m_whole); }

  static constexpr int steps = 200;
  QTemporaryDir m_shared;
  std::unique_ptr<QTemporaryDir> m_folder;
  QString m_project;
  QString m_whole;
  QByteArray m_wholeOutput;
  QString m_run;
};

QTEST_GUILESS_MAIN(TestTrain)
#include "test_train.moc"
