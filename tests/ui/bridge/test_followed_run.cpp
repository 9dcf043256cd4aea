#include "bridge/detached_program.h"
#include "bridge/followed_run.h"
#include "bridge/text.h"
#include "ui/bridge/feed_record.h"

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

/// Runs of other processes: the headless program's.
class TestFollowedRun : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void tellsARunThatIsOver() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 30);
    QCOMPARE(runProgram({"train", project, "--run-dir", folder.filePath("run")}).code, 0);
    FollowedRun run(toPath(folder.filePath("run")));
    FeedRecord record(run);
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QCOMPARE(record.steps(), stepsUpTo(30));
    QVERIFY(record.sameThread);
    QVERIFY(record.saw(RunState::Finished));
    QVERIFY(!run.inProcess());
  }

  void followsAndSteersALiveOne() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Child child({"train", project, "--run-dir", folder.filePath("run"), "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":2,"));
    FollowedRun run(toPath(folder.filePath("run")));
    FeedRecord record(run);
    run.open();
    TRY(record.steps().size() > 3);
    QCOMPARE(run.link(), FeedLink::Connected);
    run.pause();
    TRY(record.saw(RunState::Paused));
    run.checkpointNow();
    TRY(record.count<CheckpointSaved>() == 1);
    const auto steps = record.steps().size();
    run.resumeTraining();
    TRY(record.steps().size() > steps);
    run.stop();
    TRY(run.link() == FeedLink::Ended);
    QVERIFY(record.saw(RunState::Interrupted));
    QCOMPARE(record.steps(), stepsUpTo(record.steps().size()));
    QCOMPARE(record.problems, QStringList());
    run.pause(); // nobody is there to be asked
    TRY(record.problems.size() == 1);
    QVERIFY(record.problems[0].contains("no process works on this run"));
  }

  /// A killed run has ended, with the reason, and is followed again when somebody goes on with it.
  void outlivesAKill() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 600);
    const QString directory = folder.filePath("run");
    FollowedRun run(toPath(directory));
    FeedRecord record(run);
    {
      Child child({"train", project, "--run-dir", directory, "--json", "--set", "checkpoint.every=5"});
      QVERIFY(child.start());
      QVERIFY(child.waitForOutput("\"step\":12,"));
      run.open();
      TRY(record.steps().size() >= 12);
      child.signal(SIGKILL);
      QVERIFY(!child.wait().finished);
    }
    TRY(run.link() == FeedLink::Ended);
    QVERIFY2(run.linkReason().contains("killed"), qPrintable(run.linkReason()));
    QVERIFY(run.hasFolder());
    Child again({"resume", directory});
    QVERIFY(again.start());
    TRY(record.saw(RunState::Finished) && run.link() == FeedLink::Ended);
    QVERIFY(record.links.mid(record.links.indexOf(FeedLink::Ended)).contains(FeedLink::Connected));
    QVERIFY(run.linkReason().isEmpty());
    QCOMPARE(record.steps().back(), 600);
  }

  /// While the history of one that nobody works on is read it is not told to be at work.
  void aStoppedRunIsNeverLive() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 400);
    QCOMPARE(runProgram({"train", project, "--run-dir", folder.filePath("run")}).code, 0);
    FollowedRun run(toPath(folder.filePath("run")));
    FeedRecord record(run);
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QCOMPARE(record.steps(), stepsUpTo(400));
    QVERIFY(!record.links.contains(FeedLink::Connected));
    QVERIFY(run.hasFolder());
    QVERIFY(QDir(folder.filePath("run")).removeRecursively());
    TRY(!run.hasFolder() && run.linkReason().contains("gone"));
  }

  /// The folder is removed under the process that works on it.
  void theFolderGoesBeforeTheRun() {
    QTemporaryDir folder;
    const QString directory = folder.filePath("run");
    FollowedRun run(toPath(directory));
    FeedRecord record(run);
    Child child({"train", writeTinyProject(folder.path(), "goose", 100'000), "--run-dir", directory, "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":3,"));
    run.open();
    TRY(!record.steps().isEmpty());
    child.signal(SIGSTOP); // it would write new files meanwhile
    QVERIFY(QDir(directory).removeRecursively());
    child.signal(SIGKILL);
    QVERIFY(!child.wait().finished);
    // Files go one by one: for a moment all that is known may be that its owner's record is missing.
    TRY(run.link() == FeedLink::Ended && run.linkReason().contains("gone"));
  }

  void theFolderGoesAfterTheRun() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    const QString directory = folder.filePath("run");
    Child child({"train", project, "--run-dir", directory, "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":2,"));
    FollowedRun run(toPath(directory));
    FeedRecord record(run);
    run.open();
    TRY(!record.steps().isEmpty());
    child.signal(SIGKILL);
    QVERIFY(!child.wait().finished);
    TRY(run.link() == FeedLink::Ended);
    QVERIFY(QDir(directory).removeRecursively());
    TRY(!run.hasFolder());
    QCOMPARE(run.link(), FeedLink::Ended);
    QCOMPARE(run.linkReason(), QString("The folder of the run is gone"));
  }

  void requestsAreAskedUntilTheyAreAnswered() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Child child({"train", project, "--run-dir", folder.filePath("run"), "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":2,"));
    FollowedRun run(toPath(folder.filePath("run")));
    FeedRecord record(run);
    run.open();
    TRY(!record.steps().isEmpty());
    QVERIFY(!run.isAsking());
    run.pause();
    QVERIFY(run.isAsking());
    TRY(record.saw(RunState::Paused) && !run.isAsking());
    QCOMPARE(record.problems, QStringList());
  }

  void saysWhyNot() {
    QTemporaryDir folder;
    FollowedRun run(toPath(folder.path()));
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QVERIFY(run.linkReason().contains("run.json"));
  }

  /// Gone while a long history is still being read: the reader does not wait for room that nobody makes.
  void isLetGoWhileItReads() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 3000);
    QCOMPARE(runProgram({"train", project, "--run-dir", folder.filePath("run")}).code, 0);
    {
      FollowedRun run(toPath(folder.filePath("run")));
      run.open();
    }
    QVERIFY(QThreadPool::globalInstance()->waitForDone(patienceMs));
  }
};

class TestDetachedProgram : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  void outlivesWhoStartedIt() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 300);
    const QString directory = folder.filePath("run");
    {
      DetachedProgram program(MILLRACE_PROGRAM, {"train", project, "--run-dir", directory}, toPath(directory));
      bool running = false;
      QString problem;
      connect(&program, &DetachedProgram::running, this, [&] { running = true; });
      connect(&program, &DetachedProgram::failed, this, [&](const QString& message) { problem = message; });
      program.start();
      TRY(running || !problem.isEmpty());
      QVERIFY2(running, qPrintable(problem));
    }
    FollowedRun run(toPath(directory));
    FeedRecord record(run);
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QCOMPARE(record.steps(), stepsUpTo(300));
    QVERIFY(record.saw(RunState::Finished));
  }

  /// What it is given, and what it says, are in no file that somebody would have to remove.
  void leavesNoFilesBehind() {
    QTemporaryDir folder, temporary;
    const QByteArray before = qgetenv("TMPDIR");
    qputenv("TMPDIR", QFile::encodeName(temporary.path()));
    const QByteArray project = readFile(writeTinyProject(folder.path(), "goose", 20))
                                   .replace("geese.txt", QFile::encodeName(folder.filePath("geese.txt")));
    const QString directory = folder.filePath("run");
    DetachedProgram program(MILLRACE_PROGRAM, {"train", "/dev/stdin", "--run-dir", directory}, toPath(directory),
                            project);
    bool running = false;
    QString problem;
    connect(&program, &DetachedProgram::running, this, [&] { running = true; });
    connect(&program, &DetachedProgram::failed, this, [&](const QString& message) { problem = message; });
    program.start();
    QCOMPARE(QDir(temporary.path()).entryList(QDir::AllEntries | QDir::NoDotAndDotDot), QStringList());
    TRY(running || !problem.isEmpty());
    qputenv("TMPDIR", before);
    QVERIFY2(running, qPrintable(problem));
    FollowedRun run(toPath(directory));
    FeedRecord record(run);
    run.open();
    TRY(record.saw(RunState::Finished));
  }

  void tellsWhatItSaid_data() {
    QTest::addColumn<QString>("program");
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("words");
    QTest::newRow("bad input") << MILLRACE_PROGRAM << QStringList{"train", "/nowhere.json"} << "/nowhere.json";
    QTest::newRow("no such program") << "/nowhere/millrace" << QStringList{"train"} << "cannot be started";
    QTest::newRow("no program") << "" << QStringList{"train"} << "on the PATH";
    QTest::newRow("one that says nothing") << "/bin/true" << QStringList{} << "said nothing";
  }
  void tellsWhatItSaid() {
    QFETCH(QString, program);
    QFETCH(QStringList, arguments);
    QTemporaryDir folder;
    DetachedProgram detached(program, arguments, toPath(folder.filePath("run")));
    QString problem;
    connect(&detached, &DetachedProgram::failed, this, [&](const QString& message) { problem = message; });
    detached.start();
    TRY(!problem.isEmpty());
    QFETCH(QString, words);
    QVERIFY2(problem.contains(words), qPrintable(problem));
  }
};

int main(int argc, char** argv) {
  QCoreApplication application(argc, argv);
  TestFollowedRun followed;
  TestDetachedProgram detached;
  return QTest::qExec(&followed, argc, argv) + QTest::qExec(&detached, argc, argv);
}
#include "test_followed_run.moc"
