#include "bridge/text.h"
#include "run/written_run.h"
#include "runs/history_store.h"
#include "runs/run_history.h"

#include <QDir>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QtTest>

using namespace millrace;
using namespace millrace::ui;
using test::writeRun;
using test::WrittenRun;

#define GOOD(result) QVERIFY2((result).has_value(), (result) ? "" : (result).error().message.c_str())

class TestRunHistory : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_folder;
  std::unique_ptr<QSettings> m_settings;
  std::unique_ptr<RunHistory> m_history;

  QString at(const QString& name) const { return m_folder->filePath(name); }
  void write(const QString& place, const WrittenRun& run = {}) { GOOD(writeRun(m_files, toPath(at(place)), run)); }
  /// As another process would begin.
  void begin() {
    m_history = std::make_unique<RunHistory>(*m_settings);
    look();
  }
  void look() {
    m_history->refresh();
    QTRY_VERIFY(m_history->isLoaded() && !m_history->isLooking());
  }
  RunEntry run(const QString& place) {
    const RunEntry* found = m_history->find(at(place));
    return found ? *found : RunEntry{.path = "none"};
  }

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_settings = std::make_unique<QSettings>(at("settings.ini"), QSettings::IniFormat);
    qputenv("XDG_DATA_HOME", QFile::encodeName(at("data")));
    qputenv("MILLRACE_RUNS", QFile::encodeName(at("runs")));
  }
  void cleanup() {
    m_history.reset();
    QThreadPool::globalInstance()->waitForDone();
  }

  void findsRunsWhereTheyGo() {
    WrittenRun finished;
    finished.steps = 20;
    finished.totalSteps = 40;
    finished.evaluations = {{10, 4.5}, {20, 4.75}};
    finished.checkpoints = {10, 20};
    write("runs/goose-1", finished);
    WrittenRun killed;
    killed.steps = 5;
    killed.end.reset();
    write("runs/goose-2", killed);
    QVERIFY(QDir().mkpath(at("runs/no run")));
    begin();
    QCOMPARE(m_history->runs().size(), std::size_t(2));
    const RunEntry first = run("runs/goose-1");
    QCOMPARE(first.name, QString("goose-1"));
    QCOMPARE(first.project, QString("goose"));
    QVERIFY(first.outcome == RunOutcome::Finished && first.present && !first.canBeResumed());
    QCOMPARE(first.step, 20);
    QCOMPARE(first.totalSteps, 40);
    QCOMPARE(first.tokens, 20 * 64);
    QCOMPARE(*first.validation, 4.5);
    QCOMPARE(first.validationStep, 10);
    QCOMPARE(first.checkpoints, 2);
    QVERIFY(first.checkpointBytes > 1000);
    const RunEntry second = run("runs/goose-2");
    QVERIFY(second.outcome == RunOutcome::Interrupted && second.canBeResumed());
    QVERIFY2(second.reason.contains("killed or crashed"), qPrintable(second.reason));
    QVERIFY(m_history->notice().isEmpty());
    QVERIFY(QFile::exists(at("data/millrace/history.db")));
  }

  void findsRunsBesideThoseThatWereOpened() {
    write("elsewhere/swan-1");
    write("elsewhere/swan-2");
    begin();
    QVERIFY(m_history->runs().empty());
    m_history->remember(at("elsewhere/swan-1"));
    m_history->remember("ssh://box/runs/a");
    begin(); // also the next time
    QCOMPARE(m_history->runs().size(), std::size_t(2));
  }

  /// However quickly one follows the other, and also when nobody waits for it.
  void theLastWordStays() {
    write("runs/goose-1");
    begin();
    for (int i = 0; i <= 100; ++i)
      m_history->setNotes(at("runs/goose-1"), {QString("tag %1").arg(i)}, QString("word %1").arg(i));
    m_history->refresh();
    QTRY_VERIFY(!m_history->isLooking());
    QCOMPARE(run("runs/goose-1").notes, QString("word 100"));
    m_history->setNotes(at("runs/goose-1"), {}, "the end");
    m_history.reset();
    const auto kept = readRunNotes(m_files, toPath(at("runs/goose-1")));
    GOOD(kept);
    QCOMPARE(kept->text, std::string("the end"));
  }

  void aLostOrDamagedStoreLosesNothing_data() {
    QTest::addColumn<bool>("damaged");
    QTest::newRow("lost") << false;
    QTest::newRow("damaged") << true;
  }
  void aLostOrDamagedStoreLosesNothing() {
    QFETCH(bool, damaged);
    write("runs/goose-1");
    write("elsewhere/swan-1");
    begin();
    m_history->remember(at("elsewhere/swan-1"));
    look();
    m_history->setNotes(at("runs/goose-1"), {"paper"}, "the good one");
    m_history->setNotes(at("elsewhere/swan-1"), {}, "the other");
    m_history->setBaseline(at("elsewhere/swan-1"));
    m_history.reset(); // when all is written
    const QString file = at("data/millrace/history.db");
    if (damaged) {
      QFile database(file);
      QVERIFY(database.open(QIODevice::WriteOnly));
      database.write("this was a database once");
    } else {
      QVERIFY(QDir(at("data/millrace")).removeRecursively());
    }
    begin();
    QCOMPARE(m_history->runs().size(), std::size_t(2));
    QCOMPARE(run("runs/goose-1").tags, QStringList{"paper"});
    QCOMPARE(run("runs/goose-1").notes, QString("the good one"));
    QCOMPARE(run("elsewhere/swan-1").notes, QString("the other"));
    QCOMPARE(m_history->baseline(), at("elsewhere/swan-1"));
    QCOMPARE(m_history->notice().contains("made anew"), damaged);
    QCOMPARE(HistoryStore::open(file)->all()->size(), std::size_t(2));
  }

  void worksWithoutAStore() {
    write("runs/goose-1");
    QVERIFY(QDir().mkpath(at("data/millrace/history.db")));
    begin();
    QCOMPARE(m_history->runs().size(), std::size_t(1));
    QVERIFY2(m_history->notice().contains("cannot be kept"), qPrintable(m_history->notice()));
    QVERIFY(QDir(at("data/millrace/history.db")).removeRecursively());
    look();
    QVERIFY(m_history->notice().isEmpty());
    QCOMPARE(HistoryStore::open(at("data/millrace/history.db"))->all()->size(), std::size_t(1));
  }

  void aRunThatIsGoneStaysListedUntilItIsForgotten() {
    WrittenRun written;
    written.steps = 7;
    write("runs/goose-1", written);
    begin();
    m_history->setNotes(at("runs/goose-1"), {"old"}, "kept");
    m_history->forget(at("runs/goose-1")); // it is there: nothing happens
    QCOMPARE(m_history->runs().size(), std::size_t(1));
    m_history.reset(); // when all is written
    QVERIFY(QDir(at("runs/goose-1")).removeRecursively());
    begin();
    const RunEntry gone = run("runs/goose-1");
    QVERIFY(!gone.present && !gone.canBeResumed());
    QCOMPARE(gone.step, 7);
    QCOMPARE(gone.notes, QString("kept"));
    m_history->forget(gone.path);
    QVERIFY(m_history->runs().empty());
    QThreadPool::globalInstance()->waitForDone();
    QCoreApplication::processEvents();
    begin();
    QVERIFY(m_history->runs().empty());
    write("runs/goose-1", written); // comes back where it was
    look();
    QVERIFY(run("runs/goose-1").present);
  }

  void whatChangesIsSeen() {
    write("runs/goose-1");
    begin();
    const auto owned = openRun(m_files, toPath(at("runs/goose-1")));
    GOOD(owned);
    look();
    QVERIFY(run("runs/goose-1").isLive());
    owned->owner->finish(RunState::Failed, "out of luck");
    const_cast<Result<OwnedRun>&>(owned)->owner.reset();
    look();
    QVERIFY(run("runs/goose-1").outcome == RunOutcome::Failed);
    QCOMPARE(run("runs/goose-1").reason, QString("out of luck"));
    // Notes that another window wrote.
    GOOD(writeRunNotes(m_files, toPath(at("runs/goose-1")), {{"new"}, "text"}));
    look();
    QCOMPARE(run("runs/goose-1").tags, QStringList{"new"});
  }

  void notesThatCannotBeWrittenAreToldAndKept() {
    write("runs/goose-1");
    begin();
    QVERIFY(QDir().mkpath(at("runs/goose-1/notes.json/in the way")));
    QSignalSpy failed(m_history.get(), &RunHistory::notesFailed);
    m_history->setNotes(at("runs/goose-1"), {"a"}, "b");
    QTRY_COMPARE(failed.size(), 1);
    QCOMPARE(failed[0][0].toString(), at("runs/goose-1"));
    QVERIFY(failed[0][1].toString().contains("notes.json"));
    begin(); // it is in the store at least
    QCOMPARE(run("runs/goose-1").tags, QStringList{"a"});
  }

  void deletesCheckpoints() {
    WrittenRun written;
    written.checkpoints = {1, 2};
    write("runs/goose-1", written);
    begin();
    const qint64 before = run("runs/goose-1").checkpointBytes;
    std::optional<Bytes> freed;
    m_history->deleteCheckpoints(at("runs/goose-1"), {.newest = true},
                                 [&](const Result<DeletedCheckpoints>& done) { freed = done ? done->freed : -1; });
    QTRY_VERIFY(freed);
    QTRY_COMPARE(run("runs/goose-1").checkpoints, 1);
    QCOMPARE(*freed, before - run("runs/goose-1").checkpointBytes);
  }
};

QTEST_GUILESS_MAIN(TestRunHistory)
#include "test_run_history.moc"
