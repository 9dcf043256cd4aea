#include "engine/run_details.h"
#include "run/run_status.h"
#include "run/written_run.h"
#include "support/faulty_file_system.h"

#include <QTemporaryDir>
#include <QtTest>

using namespace millrace;
using test::writeRun;
using test::WrittenRun;

#define GOOD(result) QVERIFY2((result).has_value(), (result) ? "" : (result).error().message.c_str())

class TestRunDetails : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_folder;
  Path run() const { return Path(m_folder->path().toStdString()) / "goose-1"; }
  std::vector<std::int64_t> steps() {
    const auto details = runDetails(m_files, run());
    std::vector<std::int64_t> all;
    if (details)
      for (const CheckpointSize& each : details->checkpoints) all.push_back(each.step);
    return all;
  }

 private Q_SLOTS:
  void init() { m_folder = std::make_unique<QTemporaryDir>(); }

  void detailsTellWhereItCameFromAndHowItDid() {
    WrittenRun written;
    written.steps = 30;
    written.evaluations = {{10, 4.0}, {20, 3.0}, {30, 3.5}};
    written.checkpoints = {10, 30};
    GOOD(writeRun(m_files, run(), written));
    const auto details = runDetails(m_files, run());
    GOOD(details);
    QCOMPARE(details->project, std::string("goose"));
    QVERIFY2(details->model.starts_with("llama, "), details->model.c_str());
    QVERIFY(details->parameters > 10'000);
    QCOMPARE(details->began, 1e9);
    QVERIFY((*details->lastValidation == EvaluatedStep{30, 3.5}));
    QVERIFY((*details->bestValidation == EvaluatedStep{20, 3.0}));
    QCOMPARE(details->checkpoints.size(), std::size_t(2));
    QCOMPARE(details->checkpoints[1].step, 30);
    QVERIFY(details->checkpoints[1].bytes > 1000);
    QVERIFY(details->info.outcome == RunOutcome::Finished);
  }

  void whatCannotBeReadTellsNothing() {
    WrittenRun written;
    written.steps = 3;
    GOOD(writeRun(m_files, run(), written));
    QVERIFY(writeTextFile(m_files, run() / "run.json", "{ torn").has_value());
    QVERIFY(writeTextFile(m_files, run() / "events.jsonl", std::string("\0\0nothing\n", 10)).has_value());
    const auto details = runDetails(m_files, run());
    GOOD(details);
    QVERIFY(details->project.empty() && details->model.empty());
    QCOMPARE(details->began, 0.0);
    QVERIFY(!details->bestValidation);
    QCOMPARE(details->info.last->step, 3);
    QVERIFY(!runDetails(m_files, run() / "nowhere"));
  }

  void checkpointsAreDeletedAndMetricsStay_data() {
    QTest::addColumn<bool>("newest");
    QTest::addColumn<bool>("best");
    QTest::addColumn<QList<int>>("kept");
    QTest::newRow("all") << false << false << QList<int>{};
    QTest::newRow("newest") << true << false << QList<int>{30};
    QTest::newRow("best") << false << true << QList<int>{20};
    QTest::newRow("both") << true << true << QList<int>{20, 30};
  }
  void checkpointsAreDeletedAndMetricsStay() {
    QFETCH(bool, newest);
    QFETCH(bool, best);
    QFETCH(QList<int>, kept);
    WrittenRun written;
    written.steps = 30;
    written.checkpoints = {10, 20, 30};
    written.best = 20;
    written.end = RunState::Interrupted;
    written.reason = "stopped on request";
    GOOD(writeRun(m_files, run(), written));
    const auto before = runDetails(m_files, run());
    const auto metrics = readTextFile(m_files, run() / "metrics.jsonl");
    // What a killed save left is freed too.
    QVERIFY(m_files.createDirectories(run() / "checkpoints" / "step-00000040.tmp-1").has_value());
    QVERIFY(writeTextFile(m_files, run() / "checkpoints" / "step-00000040.tmp-1" / "a", "12345").has_value());
    const auto result = deleteCheckpoints(m_files, run(), {newest, best});
    GOOD(result);
    QCOMPARE(QList<int>(result->kept.begin(), result->kept.end()), kept);
    Bytes gone = 5;
    for (const CheckpointSize& each : before->checkpoints)
      if (!kept.contains(static_cast<int>(each.step))) gone += each.bytes;
    QCOMPARE(result->freed, gone);
    QCOMPARE(steps().size(), static_cast<std::size_t>(kept.size()));
    QCOMPARE(*readTextFile(m_files, run() / "metrics.jsonl"), *metrics);
    // How the run ended, and when, is still what it was.
    const auto after = runInfo(m_files, run());
    QVERIFY(after->outcome == RunOutcome::Interrupted);
    QCOMPARE(after->reason, std::string("stopped on request"));
    QCOMPARE(after->changed, before->info.changed);
    QVERIFY(!probeOwner(run() / "owner").live);
  }

  void aDamagedNewestIsNotWhatIsKept() {
    WrittenRun written;
    written.checkpoints = {10, 20};
    GOOD(writeRun(m_files, run(), written));
    QVERIFY(m_files.remove(run() / "checkpoints" / "step-00000020" / "state.json").has_value());
    const auto result = deleteCheckpoints(m_files, run(), {.newest = true});
    GOOD(result);
    QCOMPARE(result->kept, std::vector<std::int64_t>{10});
    QVERIFY(m_files.remove(run() / "checkpoints" / "step-00000010" / "state.json").has_value());
    const auto refused = deleteCheckpoints(m_files, run(), {.newest = true});
    QVERIFY(!refused);
    QCOMPARE(steps(), std::vector<std::int64_t>{10}); // nothing is known to be good: left to a person
  }

  void aLiveRunIsRefused() {
    WrittenRun written;
    written.checkpoints = {10};
    GOOD(writeRun(m_files, run(), written));
    const auto owned = openRun(m_files, run());
    GOOD(owned);
    const auto refused = deleteCheckpoints(m_files, run(), {});
    QVERIFY(!refused);
    QVERIFY(refused.error().kind == ErrorKind::BadInput);
    QVERIFY2(refused.error().message.find("is live") != std::string::npos, refused.error().message.c_str());
    QCOMPARE(steps(), std::vector<std::int64_t>{10});
  }

  /// Wherever it is broken off, no half of a checkpoint is taken for one, and asking again does the rest.
  void deletionMayBeBrokenOffAnywhere() {
    WrittenRun written;
    written.checkpoints = {10, 20};
    for (std::int64_t operation = 0;; ++operation) {
      m_folder = std::make_unique<QTemporaryDir>();
      GOOD(writeRun(m_files, run(), written));
      test::FaultyFileSystem faulty(m_files);
      faulty.failAt(operation, test::Fault::Crash);
      const auto broken = deleteCheckpoints(faulty, run(), {});
      if (!faulty.happened()) {
        QVERIFY(broken.has_value());
        QVERIFY(operation > 10);
        return;
      }
      QVERIFY(!broken);
      if (!steps().empty()) GOOD(checkCheckpoints(m_files, run()));
      for (const CheckpointCheck& check : checkCheckpoints(m_files, run()).value_or(std::vector<CheckpointCheck>()))
        QVERIFY2(!check.error, check.error ? check.error->message.c_str() : "");
      GOOD(deleteCheckpoints(m_files, run(), {}));
      QVERIFY(m_files.list(run() / "checkpoints")->empty());
    }
  }

  void notesAreKeptBesideTheRun() {
    GOOD(writeRun(m_files, run(), {}));
    QVERIFY(*readRunNotes(m_files, run()) == RunNotes());
    const RunNotes notes{{"paper", "größer"}, "two\nlines \"quoted\""};
    GOOD(writeRunNotes(m_files, run(), notes));
    QVERIFY(*readRunNotes(m_files, run()) == notes);
    QVERIFY(!writeRunNotes(m_files, run() / "nowhere", notes));
    QVERIFY(!writeRunNotes(m_files, run(), {{}, std::string(2 * MiB, 'a')}));
    QVERIFY(*readRunNotes(m_files, run()) == notes);
    // They are the run's: replacing it takes them along, and leaves nothing that stands in the way.
    GOOD(createRun(m_files, run(), ExistingRun::Replace));
    QVERIFY(!m_files.exists(run() / "notes.json"));
  }

  void damagedNotesAreRefused_data() {
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("torn") << QByteArray("{\"tags\": [");
    QTest::newRow("no list") << QByteArray("{\"tags\": 3}");
    QTest::newRow("no words") << QByteArray("{\"tags\": [3]}");
    QTest::newRow("no object") << QByteArray("[]");
  }
  void damagedNotesAreRefused() {
    QFETCH(QByteArray, text);
    GOOD(writeRun(m_files, run(), {}));
    QVERIFY(writeTextFile(m_files, run() / "notes.json", text.toStdString()).has_value());
    const auto notes = readRunNotes(m_files, run());
    QVERIFY(!notes);
    QVERIFY2(notes.error().message.find("notes.json") != std::string::npos, notes.error().message.c_str());
  }
};

QTEST_GUILESS_MAIN(TestRunDetails)
#include "test_run_details.moc"
