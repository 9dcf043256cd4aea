#include "run/run_follower.h"

#include "run/metrics_file.h"
#include "run/other_process.h"
#include "run/run_journal.h"

#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>
#include <ctime>
#include <thread>

using namespace millrace;
using test::OtherProcess;

namespace {

RunEvent stepEvent(std::int64_t step, double loss = 1) {
  StepMetrics metrics;
  metrics.step = step;
  metrics.time = unixTime();
  metrics.loss = loss;
  return {metrics.time, step, metrics};
}

} // namespace

class TestRunFollower : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_temporary;

  Path path() const { return Path(m_temporary->path().toStdString()) / "run"; }
  QString pathText() const { return QString::fromStdString(path().string()); }

  /// A run with 10 steps, an evaluation after every 5 and a sample at the end; the process is gone.
  void makeEndedRun() {
    const auto run = createRun(m_files, path());
    QVERIFY(run.has_value());
    QVERIFY(writeRunFile(m_files, run->directory, Json::object()).has_value());
    auto journal = RunJournal::open(m_files, run->directory, std::nullopt);
    QVERIFY(journal->append({unixTime(), 0, StateChanged{RunState::Running, ""}}).has_value());
    for (std::int64_t step = 1; step <= 10; ++step) {
      QVERIFY(journal->append(stepEvent(step)).has_value());
      if (step % 5 == 0) QVERIFY(journal->append({unixTime(), step, Evaluation{2, 7.4, 1, true}}).has_value());
    }
    QVERIFY(journal->append({unixTime(), 10, Sample{"p", "t"}}).has_value());
    QVERIFY(journal->append({unixTime(), 10, StateChanged{RunState::Finished, ""}}).has_value());
    run->owner->finish(RunState::Finished, "");
  }

  static QString letters(const std::vector<RunEvent>& events) {
    QString text;
    for (const RunEvent& event : events) {
      if (std::holds_alternative<StepMetrics>(event.body)) text += QString::number(event.step) + " ";
      if (std::holds_alternative<Evaluation>(event.body)) text += "eval ";
      if (std::holds_alternative<Sample>(event.body)) text += "sample ";
      if (const auto* state = std::get_if<StateChanged>(&event.body))
        text += QString::fromStdString(std::string(toString(state->state))) + " ";
    }
    return text.trimmed();
  }
  static std::vector<RunEvent> all(RunFollower& follower) {
    std::vector<RunEvent> events;
    for (;;) {
      auto event = follower.next();
      if (!event || !*event) return events;
      events.push_back(std::move(**event));
    }
  }

 private Q_SLOTS:
  void init() { m_temporary = std::make_unique<QTemporaryDir>(); }

  void endedRunIsReplayed_data() {
    QTest::addColumn<qlonglong>("after");
    QTest::addColumn<QString>("events");
    QTest::newRow("all") << -1ll << "running 1 2 3 4 5 eval 6 7 8 9 10 eval sample finished";
    QTest::newRow("from step 5") << 4ll << "5 eval 6 7 8 9 10 eval sample finished";
    QTest::newRow("from step 6") << 5ll << "6 7 8 9 10 eval sample finished";
    QTest::newRow("behind the end") << 10ll << "";
  }
  void endedRunIsReplayed() {
    QFETCH(qlonglong, after);
    QFETCH(QString, events);
    makeEndedRun();
    auto follower = RunFollower::open(m_files, RunDirectory(path()), after);
    QVERIFY(follower.has_value());
    QCOMPARE(letters(all(*follower)), events);
  }

  void orderOfTimeIsKeptWhileWriting() {
    // Each step is followed by its evaluation in another file; a reader in between must not see them the other way
    // round.
    auto run = createRun(m_files, path());
    QVERIFY(writeRunFile(m_files, run->directory, Json::object()).has_value());
    auto follower = RunFollower::open(m_files, run->directory);
    constexpr std::int64_t steps = 2000;
    std::thread writer([&] {
      auto journal = RunJournal::open(m_files, run->directory, std::nullopt);
      for (std::int64_t step = 1; step <= steps; ++step) {
        RunEvent event = stepEvent(step);
        event.time = std::get<StepMetrics>(event.body).time = static_cast<double>(2 * step);
        if (!journal->append(event)) return;
        if (!journal->append({static_cast<double>(2 * step + 1), step, Evaluation{}})) return;
      }
    });
    double last = 0;
    for (std::int64_t i = 0; i < 2 * steps; ++i) {
      const auto event = follower->next();
      if (!event || !*event || (*event)->time != last + (i ? 1 : 2)) {
        writer.join();
        QFAIL(qPrintable(QString("event %1").arg(i)));
      }
      last = (*event)->time;
    }
    writer.join();
    run->owner.reset();
    QVERIFY(!*follower->next());
  }

  void noRunIsAnError() { QVERIFY(!RunFollower::open(m_files, RunDirectory(path()))); }

  void damagedLinesArePassedOver() {
    makeEndedRun();
    auto file = m_files.open(path() / "metrics.jsonl", OpenMode::ReadWrite);
    const std::string garbage = "xxxx";
    QVERIFY((*file)->write(std::as_bytes(std::span(garbage)), 3).has_value());
    auto follower = RunFollower::open(m_files, RunDirectory(path()));
    const std::vector<RunEvent> events = all(*follower);
    QCOMPARE(letters(events), QString("running 2 3 4 5 eval 6 7 8 9 10 eval sample finished"));
    QCOMPARE(std::get<LogLine>(events.back().body).message,
             std::string("metrics.jsonl: line 1 is not valid and is skipped"));
    QCOMPARE(events.back().step, 10);
  }

  void liveRunIsFollowedToItsEnd_data() {
    QTest::addColumn<bool>("kill");
    QTest::newRow("ends in order") << false;
    QTest::newRow("killed") << true;
  }
  void liveRunIsFollowedToItsEnd() {
    QFETCH(bool, kill);
    OtherProcess other({"run", pathText()});
    QCOMPARE(other.line(), QByteArray("ready"));
    auto follower = RunFollower::open(m_files, RunDirectory(path()));
    QVERIFY(follower.has_value());
    std::int64_t expected = 1;
    for (int burst : {1, 100, 7}) {
      other.tell("steps " + QByteArray::number(burst));
      for (int i = 0; i < burst; ++i, ++expected) {
        const auto event = follower->next();
        QVERIFY(event && *event);
        QCOMPARE((*event)->step, expected);
      }
      QCOMPARE(other.line(), QByteArray("done"));
    }
    if (kill) {
      other.kill();
      QVERIFY(!*follower->next());
    } else {
      other.tell("finish");
      QCOMPARE(letters(all(*follower)), QString("finished"));
      QCOMPARE(other.finish(), 0);
    }
    QVERIFY(!*follower->next());
  }

  void waitingCostsNothing() {
    OtherProcess other({"run", pathText()});
    QCOMPARE(other.line(), QByteArray("ready"));
    auto follower = RunFollower::open(m_files, RunDirectory(path()));
    std::clock_t used = 0;
    std::thread waiting([&] {
      timespec before = {}, after = {};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
      const auto event = follower->next();
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
      used = (after.tv_sec - before.tv_sec) * 1000000 + (after.tv_nsec - before.tv_nsec) / 1000;
      QVERIFY(event && !*event);
    });
    QTest::qWait(1500);
    follower->stop(); // from another thread
    waiting.join();
    QVERIFY2(used < 200000, qPrintable(QString("%1 us").arg(used)));
    QVERIFY(!*follower->next());
  }

  void newsArriveAtOnce() {
    OtherProcess other({"run", pathText()});
    QCOMPARE(other.line(), QByteArray("ready"));
    auto follower = RunFollower::open(m_files, RunDirectory(path()));
    qint64 fastest = 100000;
    for (int i = 0; i < 10; ++i) {
      QElapsedTimer timer;
      timer.start();
      other.tell("steps 1");
      QVERIFY(*follower->next());
      fastest = std::min(fastest, timer.elapsed());
      QCOMPARE(other.line(), QByteArray("done"));
    }
    QVERIFY2(fastest < 500, "only the look once a second found it"); // inotify did
  }

  void resumeFromAnEarlierStepGoesBack() {
    const auto run = createRun(m_files, path());
    QVERIFY(writeRunFile(m_files, run->directory, Json::object()).has_value());
    std::optional<RunJournal> journal = std::move(*RunJournal::open(m_files, run->directory, std::nullopt));
    for (std::int64_t step = 1; step <= 30; ++step) QVERIFY(journal->append(stepEvent(step, 1)).has_value());
    auto follower = RunFollower::open(m_files, run->directory, 10);
    for (std::int64_t step = 11; step <= 30; ++step) QCOMPARE((*follower->next())->step, step);
    journal = std::move(*RunJournal::open(m_files, run->directory, 20));
    for (std::int64_t step = 21; step <= 60; ++step) QVERIFY(journal->append(stepEvent(step, 2)).has_value());
    for (std::int64_t step = 21; step <= 60; ++step) {
      const auto event = follower->next();
      QVERIFY(event && *event);
      QCOMPARE((*event)->step, step);
      QCOMPARE(std::get<StepMetrics>((*event)->body).loss, 2.0);
    }
    // Once more, to before the step that was asked for.
    journal = std::move(*RunJournal::open(m_files, run->directory, 5));
    for (std::int64_t step = 6; step <= 12; ++step) QVERIFY(journal->append(stepEvent(step, 3)).has_value());
    for (std::int64_t step = 11; step <= 12; ++step) QCOMPARE((*follower->next())->step, step);
  }
};

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "run") {
    LocalFileSystem files;
    const auto run = createRun(files, argv[2]);
    if (!run || !writeRunFile(files, run->directory, Json::object())) return 1;
    auto journal = RunJournal::open(files, run->directory, std::nullopt);
    if (!journal) return 1;
    test::report("ready");
    std::int64_t step = 0;
    for (std::string command = test::nextCommand(); !command.empty(); command = test::nextCommand()) {
      if (command.starts_with("steps ")) {
        for (int i = std::stoi(command.substr(6)); i > 0; --i)
          if (!journal->append(stepEvent(++step))) return 1;
      } else {
        if (!journal->append({unixTime(), step, StateChanged{RunState::Finished, ""}})) return 1;
        run->owner->finish(RunState::Finished, "");
        return 0;
      }
      test::report("done");
    }
    return 0;
  }
  QCoreApplication application(argc, argv);
  TestRunFollower tests;
  return QTest::qExec(&tests, argc, argv);
}
#include "test_run_follower.moc"
