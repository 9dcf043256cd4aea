#include "bridge/remote_run.h"
#include "ui/bridge/feed_record.h"

#include <csignal>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

/// The other machine is this one: an ssh of ours runs the command here, and drops the link as it is told.
class TestRemoteRun : public QObject {
  Q_OBJECT

  static RemotePrograms programs(const QTemporaryDir& folder, const QByteArray& drops) {
    const QString ssh = folder.filePath("ssh");
    writeFile(ssh, R"(#!/bin/bash
while [ "$1" != -- ]; do shift; done
shift
here=$(dirname "$0")
echo "$1" >> "$here/calls"
calls=$(grep -c watch "$here/calls")
case "$1" in *watch*)
)" + drops + R"(
esac
exec sh -c "$1"
)");
    QFile::setPermissions(ssh, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    return {ssh, QStringLiteral(MILLRACE_PROGRAM)};
  }

  static RemotePlace placeOf(const QString& directory) {
    QString problem;
    return *RemotePlace::parse("ssh://elsewhere" + directory, problem);
  }

 private Q_SLOTS:
  /// This program may have signals blocked that a child must hear.
  void signalsReachTheChild() {
    QTemporaryDir folder;
    sigset_t stops, before;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    QCOMPARE(pthread_sigmask(SIG_BLOCK, &stops, &before), 0);
    RemoteRun run(placeOf(folder.filePath("run")), programs(folder, R"(
grep SigBlk /proc/self/status > "$here/signals"; exit 127)"));
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QCOMPARE(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
    const QByteArray mask = readFile(folder.filePath("signals")).trimmed();
    QVERIFY2(mask.endsWith("0000000000000000"), mask.constData());
  }

  /// What could not be reached can be tried again once it has been mended.
  void triesAgainWhatWasNotReached() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 3);
    QCOMPARE(runProgram({"train", project, "--run-dir", folder.filePath("run")}).code, 0);
    RemoteRun run(placeOf(folder.filePath("run")),
                  programs(folder, R"(if [ "$calls" = 1 ]; then echo 'no such program' >&2; exit 127; fi)"));
    FeedRecord record(run);
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QVERIFY(record.events.empty());
    run.reconnect();
    TRY(run.link() == FeedLink::Ended && record.saw(RunState::Finished));
    QCOMPARE(record.steps(), stepsUpTo(3));
    run.reconnect(); // its end was told: there is nothing to be tried again
    QCOMPARE(run.link(), FeedLink::Ended);
  }

  void tellsWithoutGapsOverALinkThatDrops() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 60);
    QCOMPARE(runProgram({"train", project, "--run-dir", folder.filePath("run"), "--set", "evaluation.every=10"}).code,
             0);
    const int lines = static_cast<int>(runProgram({"watch", folder.filePath("run"), "--json"}).lines().size());

    // Three times after some lines, once in the middle of a line, once at once.
    RemoteRun run(placeOf(folder.filePath("run")), programs(folder, R"(
if [ "$calls" -le 3 ]; then sh -c "$1" | head -n 17; exit 255; fi
if [ "$calls" = 4 ]; then sh -c "$1" | head -c 3000; exit 255; fi
if [ "$calls" = 5 ]; then echo 'Connection refused' >&2; exit 255; fi)"));
    FeedRecord record(run);
    QString refused;
    connect(&run, &RunFeed::linkChanged, this, [&] {
      if (run.linkReason().contains("Connection refused")) refused = run.linkReason();
    });
    QVERIFY(!run.isLocal());
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QCOMPARE(record.steps(), stepsUpTo(60));
    QCOMPARE(static_cast<int>(record.events.size()), lines);
    QVERIFY(record.links.contains(FeedLink::Reconnecting));
    QVERIFY2(refused.contains("trying again in"), qPrintable(refused));
    QCOMPARE(readFile(folder.filePath("calls")).count("watch"), 6);
  }

  void steersARun() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Child child({"train", project, "--run-dir", folder.filePath("run"), "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":2,"));
    RemoteRun run(placeOf(folder.filePath("run")), programs(folder, ""));
    FeedRecord record(run);
    run.open();
    TRY(record.steps().size() > 3);
    run.pause();
    TRY(record.saw(RunState::Paused));
    run.checkpointNow();
    TRY(record.count<CheckpointSaved>() == 1);
    run.resumeTraining();
    const auto steps = record.steps().size();
    TRY(record.steps().size() > steps);
    run.stop();
    TRY(run.link() == FeedLink::Ended);
    QVERIFY(record.saw(RunState::Interrupted));
    run.pause();
    TRY(!record.problems.isEmpty());
    QVERIFY2(record.problems[0].contains("no process works on this run"), qPrintable(record.problems[0]));
  }

  void tellsWhatWillNotChange_data() {
    QTest::addColumn<QByteArray>("drops");
    QTest::addColumn<QString>("words");
    QTest::newRow("no such run") << QByteArray() << "there is no such run directory";
    QTest::newRow("no millrace there") << QByteArray("echo 'sh: 1: millrace: not found' >&2; exit 127")
                                       << "has no program";
  }
  void tellsWhatWillNotChange() {
    QFETCH(QByteArray, drops);
    QTemporaryDir folder;
    RemoteRun run(placeOf("/nowhere/run"), programs(folder, drops));
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QFETCH(QString, words);
    QVERIFY2(run.linkReason().contains(words), qPrintable(run.linkReason()));
  }

  void noSsh() {
    RemoteRun run(placeOf("/nowhere/run"), {"/nowhere/ssh", "millrace"});
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QVERIFY2(run.linkReason().contains("cannot be started"), qPrintable(run.linkReason()));
  }

  /// Somebody else's output is no run.
  void hostileOutput() {
    QTemporaryDir folder;
    RemoteRun run(placeOf("/nowhere/run"), programs(folder, "echo 'Welcome to box'; echo '{\"event\":\"?\"}'; exit 0"));
    FeedRecord record(run);
    run.open();
    TRY(run.link() == FeedLink::Ended);
    QVERIFY(record.events.empty());
    QCOMPARE(run.linkReason(), QString("elsewhere answers something that is not a run: Welcome to box"));
  }

  /// It need not end for that: it is told at once, and somebody who goes on and on is not listened to for ever.
  void nonsenseThatGoesOn_data() {
    QTest::addColumn<QByteArray>("drops");
    QTest::addColumn<int>("link");
    QTest::newRow("a greeting and silence")
        << QByteArray("echo 'Welcome to box'; exec sleep 100") << static_cast<int>(FeedLink::Opening);
    QTest::newRow("no end") << QByteArray("exec yes hello") << static_cast<int>(FeedLink::Ended);
    QTest::newRow("one line without end") << QByteArray("exec cat /dev/zero") << static_cast<int>(FeedLink::Ended);
  }
  void nonsenseThatGoesOn() {
    QFETCH(QByteArray, drops);
    QFETCH(int, link);
    QTemporaryDir folder;
    RemoteRun run(placeOf("/nowhere/run"), programs(folder, drops));
    QCOMPARE(run.host(), QString("elsewhere"));
    run.open();
    TRY(static_cast<int>(run.link()) == link && !run.linkReason().isEmpty());
    QVERIFY2(run.linkReason().startsWith("elsewhere answers something that is not a run"),
             qPrintable(run.linkReason()));
  }
};

QTEST_GUILESS_MAIN(TestRemoteRun)
#include "test_remote_run.moc"
