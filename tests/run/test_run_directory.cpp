#include "run/run_directory.h"

#include "base/atomic_file.h"
#include "run/metrics_file.h"
#include "run/other_process.h"
#include "run/run_journal.h"
#include "run/run_status.h"

#include <QTemporaryDir>
#include <QTest>
#include <sys/stat.h>

using namespace millrace;
using test::OtherProcess;

namespace {

RunEvent stepEvent(std::int64_t step, double time = 100) {
  StepMetrics metrics;
  metrics.step = step;
  metrics.time = time;
  metrics.loss = 2.5;
  metrics.tokensPerSecond = 1000;
  return {time, step, metrics};
}

} // namespace

class TestRunDirectory : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_temporary;

  Path root() const { return m_temporary->path().toStdString(); }
  Path path() const { return root() / "runs" / "first"; }

  void write(const Path& file, const std::string& text) { QVERIFY(writeTextFile(m_files, file, text).has_value()); }

  /// A run that a process worked on and let go, with as many steps.
  void makeRun(const Path& where, std::int64_t steps, std::optional<RunState> end, const std::string& reason = "") {
    auto run = createRun(m_files, where);
    QVERIFY2(run.has_value(), run ? "" : run.error().message.c_str());
    QVERIFY(writeRunFile(m_files, run->directory, {{"format", 1}}).has_value());
    auto journal = RunJournal::open(m_files, run->directory, std::nullopt);
    QVERIFY(journal->append({unixTime(), 0, StateChanged{RunState::Running, ""}}).has_value());
    for (std::int64_t step = 1; step <= steps; ++step) QVERIFY(journal->append(stepEvent(step, 100)).has_value());
    if (!end) return;
    QVERIFY(journal->append({unixTime(), steps, StateChanged{*end, reason}}).has_value());
    run->owner->finish(*end, reason);
  }

 private Q_SLOTS:
  void init() { m_temporary = std::make_unique<QTemporaryDir>(); }

  void newRunIsPrivateAndLocked() {
    const auto run = createRun(m_files, path());
    QVERIFY2(run.has_value(), run ? "" : run.error().message.c_str());
    struct stat info = {};
    QCOMPARE(::stat(path().c_str(), &info), 0);
    QCOMPARE(info.st_mode & 07777u, 0700u);
    QVERIFY(!isRun(m_files, path()));
    QVERIFY(writeRunFile(m_files, run->directory, {{"name", "x"}}).has_value());
    QVERIFY(isRun(m_files, path()));
    QVERIFY((*readRunFile(m_files, run->directory))["name"] == "x");
    QVERIFY(probeOwner(run->directory.owner()).live);
    QCOMPARE(run->directory.name(), std::string("first"));
    QCOMPARE(RunDirectory("a/b/").name(), std::string("b"));
  }

  void anEmptyFolderIsTaken() {
    QVERIFY(m_files.createDirectories(path()).has_value());
    QCOMPARE(::chmod(path().c_str(), 0755), 0);
    QVERIFY(createRun(m_files, path()).has_value());
    struct stat info = {};
    QCOMPARE(::stat(path().c_str(), &info), 0);
    QCOMPARE(info.st_mode & 0777u, 0700u);
  }

  void foreignFoldersAreRefused() {
    QVERIFY(m_files.createDirectories(path()).has_value());
    QCOMPARE(::chmod(path().c_str(), 0755), 0);
    write(path() / "thesis.tex", "years of work");
    for (const ExistingRun existing : {ExistingRun::Refuse, ExistingRun::Replace}) {
      const auto run = createRun(m_files, path(), existing);
      QVERIFY(!run);
      QVERIFY2(run.error().message.find("thesis.tex") != std::string::npos, run.error().message.c_str());
    }
    struct stat info = {};
    QCOMPARE(::stat(path().c_str(), &info), 0);
    QCOMPARE(info.st_mode & 0777u, 0755u); // nothing about it was changed
    QCOMPARE(m_files.list(path())->size(), std::size_t{1});
    write(root() / "file", "");
    QVERIFY(!createRun(m_files, root() / "file"));
  }

  void existingRunIsRefused() {
    makeRun(path(), 12, RunState::Finished);
    const auto run = createRun(m_files, path());
    QVERIFY(!run);
    QCOMPARE(run.error().kind, ErrorKind::BadInput);
    QVERIFY2(run.error().message.find("a run of 12 steps") != std::string::npos, run.error().message.c_str());
    QVERIFY2(run.error().message.find("--replace") != std::string::npos, run.error().message.c_str());
    QVERIFY(runStatus(m_files, RunDirectory(path())).outcome == RunOutcome::Finished); // its record is left alone
  }

  /// Refused before it could train, for its data or for want of memory: once that is mended it is started again.
  void aRunThatNeverTrainedMakesRoom() {
    makeRun(path(), 0, RunState::Failed, "no data");
    QVERIFY(createRun(m_files, path()).has_value());
    // A step, or a checkpoint without one, is something to lose.
    makeRun(root() / "step", 1, RunState::Failed, "no memory");
    QVERIFY(!createRun(m_files, root() / "step"));
    makeRun(root() / "saved", 0, RunState::Failed, "no memory");
    QVERIFY(m_files.createDirectories(root() / "saved" / "checkpoints" / "step-00000000").has_value());
    QVERIFY(!createRun(m_files, root() / "saved"));
    // And what cannot be read is not known to be nothing.
    makeRun(root() / "unread", 0, RunState::Failed, "no memory");
    const Path unread = RunDirectory(root() / "unread").metrics();
    QVERIFY(m_files.remove(unread).has_value() && m_files.createDirectories(unread).has_value());
    QVERIFY(!createRun(m_files, root() / "unread"));
  }

  void existingRunIsReplacedWhenAsked() {
    makeRun(path(), 12, RunState::Finished);
    QVERIFY(m_files.createDirectories(path() / "checkpoints" / "step-00000012").has_value());
    QVERIFY(m_files.createDirectories(path() / "charts").has_value());
    write(path() / "charts" / "loss.svg", "<svg/>");
    write(path() / "tokenizer.json", "{}");
    write(path() / "metrics.attempt-3.jsonl", "{}");
    write(path() / "notes.txt", "mine");
    const auto run = createRun(m_files, path(), ExistingRun::Replace);
    QVERIFY2(run.has_value(), run ? "" : run.error().message.c_str());
    QCOMPARE(*m_files.list(path()), (std::vector<std::string>{"notes.txt", "owner"}));
  }

  void namesLikeThoseOfARunAreNotEnough() {
    QVERIFY(m_files.createDirectories(path()).has_value());
    write(path() / "tokenizer.json", "{}");
    for (const ExistingRun existing : {ExistingRun::Refuse, ExistingRun::Replace}) {
      const auto run = createRun(m_files, path(), existing);
      QVERIFY(!run && run.error().message.find("tokenizer.json") != std::string::npos);
    }
    QCOMPARE(*m_files.list(path()), (std::vector<std::string>{"tokenizer.json"}));
  }

  void aRunThatNeverBeganMakesRoom() {
    {
      const auto run = createRun(m_files, path());
      write(path() / "log.txt", "crash");
      write(path() / "run.json.tmp", "{");
    }
    QVERIFY(createRun(m_files, path()).has_value());
    QCOMPARE(*m_files.list(path()), (std::vector<std::string>{"owner"}));
  }

  void liveRunIsRefused() {
    OtherProcess other({"run", QString::fromStdString(path().string())});
    QCOMPARE(other.line(), QByteArray("running"));
    const std::string who = "process " + std::to_string(other.id());
    for (const ExistingRun existing : {ExistingRun::Refuse, ExistingRun::Replace}) {
      const auto created = createRun(m_files, path(), existing);
      QVERIFY(!created && created.error().message.find(who) != std::string::npos);
    }
    const auto resumed = openRun(m_files, path());
    QVERIFY(!resumed && resumed.error().message.find(who) != std::string::npos);
    QVERIFY(runStatus(m_files, RunDirectory(path())).outcome == RunOutcome::Live);
    other.kill();
    QVERIFY(openRun(m_files, path()).has_value());
  }

  void resumeNeedsARun() {
    QVERIFY(!openRun(m_files, path()));
    QVERIFY(m_files.createDirectories(path()).has_value());
    const auto run = openRun(m_files, path());
    QVERIFY(!run && run.error().message.find("no run.json") != std::string::npos);
    QVERIFY(m_files.list(path())->empty());
  }

  void statusOfAnEndedRun_data() {
    QTest::addColumn<int>("state");
    QTest::addColumn<int>("outcome");
    QTest::addColumn<QString>("reason");
    QTest::newRow("finished") << int(RunState::Finished) << int(RunOutcome::Finished) << "";
    QTest::newRow("failed") << int(RunState::Failed) << int(RunOutcome::Failed) << "out of memory";
    QTest::newRow("stopped") << int(RunState::Interrupted) << int(RunOutcome::Interrupted) << "SIGTERM";
  }
  void statusOfAnEndedRun() {
    QFETCH(int, state);
    QFETCH(int, outcome);
    QFETCH(QString, reason);
    makeRun(path(), 3, static_cast<RunState>(state), reason.toStdString());
    RunStatus status = runStatus(m_files, RunDirectory(path()));
    QCOMPARE(int(status.outcome), outcome);
    QCOMPARE(status.reason, reason.toStdString());
    QVERIFY(m_files.remove(path() / "owner").has_value()); // copied without it: the events tell as much
    status = runStatus(m_files, RunDirectory(path()));
    QCOMPARE(int(status.outcome), outcome);
    QCOMPARE(status.reason, reason.toStdString());
  }

  void statusOfAKilledRun() {
    OtherProcess other({"run", QString::fromStdString(path().string())});
    QCOMPARE(other.line(), QByteArray("running"));
    const auto pid = other.id();
    QVERIFY(runStatus(m_files, RunDirectory(path())).state == RunState::Running);
    other.kill();
    const RunStatus status = runStatus(m_files, RunDirectory(path()));
    QVERIFY(status.outcome == RunOutcome::Interrupted);
    QVERIFY2(status.reason.find("killed or crashed") != std::string::npos, status.reason.c_str());
    QVERIFY2(status.reason.find("process " + std::to_string(pid)) != std::string::npos, status.reason.c_str());
  }

  void killedAfterAnEarlierOrderlyEnd() {
    makeRun(path(), 3, RunState::Interrupted, "SIGTERM");
    {
      const auto again = openRun(m_files, path()); // resumed, then gone without a word
      QVERIFY(again.has_value());
    }
    const RunStatus status = runStatus(m_files, RunDirectory(path()));
    QVERIFY(status.outcome == RunOutcome::Interrupted);
    QVERIFY2(status.reason.find("ended without saying why") != std::string::npos, status.reason.c_str());
  }

  void runsAreListedNewestFirst() {
    QVERIFY(listRuns(m_files, root() / "none")->empty());
    makeRun(root() / "runs" / "old", 5, RunState::Finished);
    makeRun(root() / "runs" / "new", 0, std::nullopt);
    QVERIFY(m_files.createDirectories(root() / "runs" / "no-run").has_value());
    QVERIFY(writeRunFile(m_files, RunDirectory(root() / "runs" / "new"), {{"name", "A name"}}).has_value());
    const auto runs = listRuns(m_files, root() / "runs");
    QCOMPARE(runs->size(), std::size_t{2});
    QCOMPARE((*runs)[0].name, std::string("A name"));
    QVERIFY(!(*runs)[0].last);
    QCOMPARE((*runs)[1].name, std::string("old"));
    QCOMPARE((*runs)[1].last->step, std::int64_t{5});
    QCOMPARE((*runs)[1].last->loss, 2.5);
    QCOMPARE((*runs)[1].last->tokensPerSecond, 1000.0);
    QVERIFY((*runs)[0].changed >= (*runs)[1].changed && (*runs)[1].changed > 1e9);
  }

  void journalGoesOnAfterAResume() {
    makeRun(path(), 30, std::nullopt);
    const auto run = openRun(m_files, path());
    auto journal = RunJournal::open(m_files, run->directory, 20);
    QVERIFY(journal.has_value());
    QVERIFY(journal->append(stepEvent(21)).has_value());
    QVERIFY(journal->append({1, 21, Sample{"p", "t"}}).has_value());
    QVERIFY(journal->append({1, 21, LogLine{Severity::Info, "only in log.txt"}}).has_value());
    QVERIFY(journal->sync().has_value());
    QCOMPARE((**lastMetrics(m_files, run->directory.metrics())).step, std::int64_t{21});
    QVERIFY(readTextFile(m_files, run->directory.samples())->find("\"prompt\":\"p\"") != std::string::npos);
    QVERIFY(readTextFile(m_files, run->directory.events())->find("log.txt") == std::string::npos);
    auto cut = MetricsReader::open(m_files, path() / "metrics.attempt-1.jsonl");
    QCOMPARE((**cut->next()).step, std::int64_t{21});
  }
};

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "run") {
    LocalFileSystem files;
    const auto run = createRun(files, argv[2]);
    if (!run || !writeRunFile(files, run->directory, Json::object())) return 1;
    auto journal = RunJournal::open(files, run->directory, std::nullopt);
    if (!journal || !journal->append({unixTime(), 0, StateChanged{RunState::Running, ""}})) return 1;
    test::report("running");
    (void)test::nextCommand();
    return 0;
  }
  QCoreApplication application(argc, argv);
  TestRunDirectory tests;
  return QTest::qExec(&tests, argc, argv);
}
#include "test_run_directory.moc"
