#include "bridge/in_process_run.h"
#include "bridge/text.h"
#include "engine/project_file.h"
#include "ui/bridge/feed_record.h"

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

class TestInProcessRun : public QObject {
  Q_OBJECT

  static Project tinyProject(const QString& folder, int steps) {
    LocalFileSystem files;
    return *readProject(files, toPath(writeTinyProject(folder, "goose", steps)));
  }

 private Q_SLOTS:
  void trainsToTheEnd() {
    QTemporaryDir folder;
    InProcessRun run(tinyProject(folder.path(), 12), toPath(folder.filePath("run")));
    FeedRecord record(run);
    QVERIFY(run.inProcess());
    QCOMPARE(run.place(), folder.filePath("run"));
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QCOMPARE(record.steps(), stepsUpTo(12));
    QVERIFY(record.sameThread);
    QVERIFY(record.saw(RunState::Preparing) && record.saw(RunState::Finished));
    QCOMPARE(record.links, (QList{FeedLink::Connected, FeedLink::Ended}));
    QVERIFY(run.linkReason().isEmpty());
  }

  void isSteered() {
    QTemporaryDir folder;
    InProcessRun run(tinyProject(folder.path(), 100'000), toPath(folder.filePath("run")));
    FeedRecord record(run);
    run.open();
    TRY(!record.steps().isEmpty());
    run.pause();
    TRY(record.saw(RunState::Paused));
    const auto steps = record.steps().size();
    run.checkpointNow();
    TRY(record.count<CheckpointSaved>() == 1);
    QCOMPARE(record.steps().size(), steps);
    run.resumeTraining();
    TRY(record.steps().size() > steps);
    run.stop();
    TRY(run.link() == FeedLink::Ended);
    QVERIFY(record.saw(RunState::Interrupted));
  }

  /// The charts of a run that goes on begin with its first step.
  void resumeTellsWhatWasBefore() {
    QTemporaryDir folder;
    const Project project = tinyProject(folder.path(), 400);
    const auto directory = toPath(folder.filePath("run"));
    {
      InProcessRun run(project, directory);
      FeedRecord record(run);
      run.open();
      TRY(record.steps().size() >= 5);
      run.stop();
      TRY(run.link() == FeedLink::Ended);
    }
    InProcessRun run(directory);
    FeedRecord record(run);
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QCOMPARE(record.steps(), stepsUpTo(400));
    QVERIFY(record.saw(RunState::Finished));
  }

  /// Stops are heard even before the run is there.
  void stopsBeforeItIsOpen() {
    QTemporaryDir folder;
    InProcessRun run(tinyProject(folder.path(), 100'000), toPath(folder.filePath("run")));
    run.open();
    run.stop();
    TRY(run.link() == FeedLink::Ended);
  }

  void saysWhyNot_data() {
    QTest::addColumn<QString>("run");
    QTest::addColumn<QString>("words");
    QTest::newRow("nothing there") << "missing"
                                   << "there is no such run directory";
    QTest::newRow("no run") << "folder"
                            << "it has no run.json";
  }
  void saysWhyNot() {
    QFETCH(QString, run);
    QTemporaryDir folder;
    QDir(folder.path()).mkdir("folder");
    InProcessRun feed(toPath(folder.filePath(run)));
    feed.open();
    TRY(feed.link() == FeedLink::Ended);
    QFETCH(QString, words);
    QVERIFY2(feed.linkReason().contains(words), qPrintable(feed.linkReason()));
  }

  /// Whoever lets go of a run that is at work gets it saved.
  void savesWhenItIsLetGo_data() {
    QTest::addColumn<bool>("asked");
    QTest::newRow("without a word") << false;
    QTest::newRow("while it stops") << true;
  }
  void savesWhenItIsLetGo() {
    QFETCH(bool, asked);
    QTemporaryDir folder;
    {
      InProcessRun run(tinyProject(folder.path(), 100'000), toPath(folder.filePath("run")));
      FeedRecord record(run);
      run.open();
      TRY(record.steps().size() >= 3);
      if (asked) run.stop();
    }
    QThreadPool::globalInstance()->waitForDone();
    QVERIFY(!QDir(folder.filePath("run/checkpoints")).entryList({"step-*"}, QDir::Dirs).isEmpty());
  }
};

QTEST_GUILESS_MAIN(TestInProcessRun)
#include "test_in_process_run.moc"
