#include "app/run_files.h"

#include <QRandomGenerator>

using namespace millrace::test;

/// A run that is killed again and again, at moments nobody chose, ends as the run that was left alone.
class TestKills : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void killedAtRandomMoments() {
    QTemporaryDir folder;
    QVERIFY(folder.isValid());
    const QString project = writeTinyProject(folder.path(), "goose", 200);
    const QString whole = folder.filePath("whole");
    const QStringList settings{"--set", "checkpoint.every=7", "--set", "evaluation.every=30"};
    QElapsedTimer timer;
    timer.start();
    const Outcome untouched = runProgram(QStringList{"train", project, "--run-dir", whole} + settings);
    QVERIFY2(untouched.code == 0, untouched.error.constData());
    const double wholeMs = static_cast<double>(timer.elapsed());

    QRandomGenerator random(20);
    int ends = 0;
    for (int kills = 0; kills < 20;) {
      const QString run = folder.filePath(QString("run%1").arg(ends));
      Child child(QStringList{"train", project, "--run-dir", run, "--resume-or-start"} + settings);
      QVERIFY(child.start());
      // Up to half a run: while preparing, in a step, in a checkpoint, or while the last sample is drawn.
      const auto moment = static_cast<int>(wholeMs * random.bounded(0.5));
      if (!child.process().waitForFinished(moment)) {
        child.signal(SIGKILL);
        const Outcome killed = child.wait();
        if (!killed.finished) ++kills;
        if (!killed.finished || killed.code != 0) continue;
      }
      // It came to its end before it could be killed: the next kills are for another run.
      QVERIFY2(child.wait().code == 0, child.wait().error.constData());
      compareRuns(run, whole);
      ++ends;
    }
    const QString run = folder.filePath(QString("run%1").arg(ends));
    const Outcome last = runProgram(QStringList{"train", project, "--run-dir", run, "--resume-or-start"} + settings);
    QVERIFY2(last.code == 0, last.error.constData());
    compareRuns(run, whole);
    QCOMPARE(runProgram({"check", "checkpoint", run}).code, 0);
    QVERIFY(QDir(run).entryList({"*.tmp*"}).isEmpty());
  }
};

QTEST_GUILESS_MAIN(TestKills)
#include "test_kills.moc"
