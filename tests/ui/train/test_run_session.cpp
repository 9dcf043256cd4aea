#include "models/run_columns.h"
#include "train/run_session.h"
#include "ui/train/scripted_feed.h"

#include <QTemporaryDir>
#include <QtTest>
#include <cmath>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

class TestRunSession : public QObject {
  Q_OBJECT

  QTemporaryDir m_folder;
  ScriptedFeed* m_feed = nullptr;
  std::unique_ptr<RunSession> m_session;

  QList<double> column(const MetricTable& table, int column) const {
    QList<double> all;
    for (std::int64_t row = 0; row < table.rows(); ++row) all.append(table.value(column, row));
    return all;
  }

 private Q_SLOTS:
  void init() {
    auto feed = std::make_unique<ScriptedFeed>();
    m_feed = feed.get();
    m_session = std::make_unique<RunSession>(std::move(feed), "goose", m_folder.path());
    m_session->open();
  }
  void cleanup() { m_session.reset(); }

  void gathersStepsAndEvaluations() {
    QSignalSpy stepped(m_session.get(), &RunSession::stepped);
    m_feed->tell({state(RunState::Running, 0, 1000),
                  step(1, 1001, 3),
                  step(2, 1002, 2.5),
                  {1002.5, 2, Evaluation{2.25, 9.5, 1.5, true}},
                  step(3, 1003, 2)});
    QCOMPARE(stepped.size(), 1);
    QCOMPARE(column(*m_session->steps(), static_cast<int>(StepColumn::Loss)), (QList<double>{3, 2.5, 2}));
    QCOMPARE(column(*m_session->steps(), static_cast<int>(StepColumn::Tokens)), (QList<double>{64, 128, 192}));
    QCOMPARE(column(*m_session->evaluations(), static_cast<int>(EvaluationColumn::Loss)), (QList<double>{2.25}));
    QCOMPARE(column(*m_session->evaluations(), static_cast<int>(EvaluationColumn::Step)), (QList<double>{2}));
    QCOMPARE(column(*m_session->evaluations(), static_cast<int>(EvaluationColumn::Tokens)), (QList<double>{128}));
    QCOMPARE(m_session->steps()->x(XAxisKind::Time)[0], 0.0);
    QCOMPARE(m_session->evaluations()->x(XAxisKind::Time)[0], 1.5);
    QCOMPARE(*m_session->progress(), 0.03);
    QVERIFY(m_session->state() == RunState::Running);
    QVERIFY(m_session->isLive());
  }

  /// A run that was resumed from an earlier checkpoint repeats its steps: the new figures stand.
  void repeatedStepsReplaceTheOldOnes() {
    m_feed->tell({step(1, 1001, 3),
                  step(2, 1002, 2.5),
                  {1002.1, 2, Evaluation{2.4, 1, 1, true}},
                  step(3, 1003, 2.4),
                  {1003.1, 3, Evaluation{2.3, 1, 1, true}},
                  step(4, 1004, 2.3)});
    m_feed->tell({step(3, 2003, 2.2), {2003.1, 3, Evaluation{2.1, 1, 1, true}}});
    QCOMPARE(column(*m_session->steps(), static_cast<int>(StepColumn::Step)), (QList<double>{1, 2, 3}));
    QCOMPARE(column(*m_session->steps(), static_cast<int>(StepColumn::Loss)), (QList<double>{3, 2.5, 2.2}));
    QCOMPARE(column(*m_session->evaluations(), static_cast<int>(EvaluationColumn::Loss)), (QList<double>{2.4, 2.1}));
  }

  void figuresThatAreNotKnownAreNot() {
    StepMetrics metrics;
    metrics.step = 1;
    metrics.loss = std::nan("");
    metrics.seconds = 2;
    metrics.links = {{"device", 300, 100, 1, 0.5, 0, 0}};
    metrics.stalls.waitData = 0.5;
    auto row = rowOf(metrics);
    const auto at = [&](StepColumn column) { return row[static_cast<std::size_t>(column)]; };
    QCOMPARE(static_cast<int>(row.size()), static_cast<int>(StepColumn::Count));
    QCOMPARE(stepColumnNames().size(), static_cast<qsizetype>(StepColumn::Count));
    QCOMPARE(evaluationColumnNames().size(), static_cast<qsizetype>(EvaluationColumn::Count));
    QVERIFY(std::isnan(at(StepColumn::Loss)));
    QCOMPARE(at(StepColumn::LinkIn), 50.0); // of the time, the peak not being known
    QCOMPARE(at(StepColumn::StallData), 25.0);
    QVERIFY(std::isnan(at(StepColumn::PlannedHost)));
    QVERIFY(std::isnan(at(StepColumn::GpuUtilization)) && std::isnan(at(StepColumn::GpuPower)));
    metrics.gpu.emplace().utilization = 0.5;
    metrics.gpu->temperature = 61;
    row = rowOf(metrics);
    QCOMPARE(at(StepColumn::GpuUtilization), 50.0);
    QCOMPARE(at(StepColumn::GpuTemperature), 61.0);
    QVERIFY(std::isnan(at(StepColumn::GpuPower)));
    metrics.links[0].peakIn = 600;
    row = rowOf(metrics);
    QCOMPARE(at(StepColumn::LinkIn), 25.0); // 150 bytes a second of 600
  }

  void timeLeftLeavesPausesOut() {
    QVERIFY(!m_session->secondsLeft());
    std::vector<RunEvent> events;
    for (int i = 1; i <= 20; ++i) events.push_back(step(i, 1000 + 2.0 * i)); // a second of step, one of other things
    m_feed->tell(events);
    const double before = *m_session->secondsLeft();
    QVERIFY(std::abs(before - 2 * 80) < 12);
    m_feed->tell({state(RunState::Paused, 20, 1041)});
    QVERIFY(!m_session->secondsLeft()); // who knows how long it stands
    m_feed->tell({state(RunState::Running, 20, 9000), step(21, 9001)});
    QVERIFY(std::abs(*m_session->secondsLeft() - 2 * 79) < 12);
    m_feed->tell({state(RunState::Finished, 100, 9999)});
    QVERIFY(!m_session->secondsLeft());
    QCOMPARE(*m_session->progress(), 1.0);
  }

  void endsAndWhatCanBeDoneThen_data() {
    QTest::addColumn<int>("last");
    QTest::addColumn<bool>("steps");
    QTest::addColumn<bool>("files");
    QTest::addColumn<bool>("resumable");
    QTest::newRow("finished") << static_cast<int>(RunState::Finished) << true << true << false;
    QTest::newRow("interrupted") << static_cast<int>(RunState::Interrupted) << true << true << true;
    QTest::newRow("failed") << static_cast<int>(RunState::Failed) << true << true << true;
    QTest::newRow("gone without a word") << static_cast<int>(RunState::Running) << true << true << true;
    QTest::newRow("records are lost") << static_cast<int>(RunState::Preparing) << false << true << true;
    QTest::newRow("failed before the first step") << static_cast<int>(RunState::Failed) << false << false << false;
  }
  void endsAndWhatCanBeDoneThen() {
    QFETCH(int, last);
    QFETCH(bool, steps);
    QFETCH(bool, files);
    if (steps) m_feed->tell({step(1, 1001)});
    m_feed->tell({state(static_cast<RunState>(last), 1, 1002)});
    m_feed->end({}, files);
    QVERIFY(!m_session->isLive());
    QTEST(m_session->canBeResumed(), "resumable");
  }

  /// Killed, and resumed by somebody else.
  void comesBack() {
    m_feed->tell({state(RunState::Running, 0, 1000), step(1, 1001), step(2, 1002)});
    m_feed->end("killed");
    QVERIFY(m_session->canBeResumed());
    QVERIFY(!m_session->secondsLeft());
    m_feed->connected();
    m_feed->tell({state(RunState::Running, 1, 2000), step(2, 2001)});
    QVERIFY(m_session->isLive());
    QVERIFY(!m_session->canBeResumed());
    QVERIFY(m_session->secondsLeft());
  }

  void aFolderThatIsGone() {
    m_feed->tell({state(RunState::Running, 0, 1000), step(1, 1001), {1001, 1, Alert{"disk-low", "little room", ""}}});
    m_feed->folder = false;
    m_feed->end("gone");
    QVERIFY(!m_session->canBeResumed());
    QVERIFY(m_session->alerts().empty());
  }

  void silence_data() {
    QTest::addColumn<int>("now");
    QTest::addColumn<double>("silent"); ///< seconds until it counts
    QTest::newRow("training") << static_cast<int>(RunState::Running) << 13.0;
    QTest::newRow("saving") << static_cast<int>(RunState::Saving) << 63.0;
    QTest::newRow("paused") << static_cast<int>(RunState::Paused) << 0.0; // never
  }
  void silence() {
    QFETCH(int, now);
    QFETCH(double, silent);
    double clock = 100;
    m_session->setClock([&] { return clock; });
    m_feed->tell({step(1, 1001), step(2, 1002), state(static_cast<RunState>(now), 2, 1002)});
    clock += silent > 0 ? silent - 0.5 : 1e6;
    QVERIFY(!m_session->secondsSilent());
    if (silent == 0) return;
    QVERIFY(m_session->secondsLeft());
    clock += 1;
    QCOMPARE(*m_session->secondsSilent(), silent + 0.5);
    QVERIFY(!m_session->secondsLeft());
    m_feed->tell({step(3, 1003)});
    QVERIFY(!m_session->secondsSilent());
  }

  /// A stop that nobody took is none.
  void aStopThatFails() {
    m_feed->tell({step(1, 1001)});
    m_session->stopAndSave();
    QVERIFY(m_session->isStopping());
    m_feed->ask();
    m_feed->answer("nobody there");
    QVERIFY(!m_session->isStopping());
  }

  void requestsAreOnesOfARunThatLives() {
    m_feed->tell({step(1, 1001)});
    m_session->pause();
    m_session->resumeTraining();
    m_session->checkpointNow();
    QSignalSpy changed(m_session.get(), &RunSession::stateChanged);
    m_session->stopAndSave();
    QVERIFY(m_session->isStopping());
    QCOMPARE(changed.size(), 1);
    m_session->stopAndSave(); // once more would give the save up
    QCOMPARE(m_feed->asked, (QStringList{"pause", "resume", "checkpoint", "stop"}));
    m_session->discard();
    QCOMPARE(m_feed->asked.size(), 5);
    m_feed->tell({state(RunState::Interrupted, 1, 1002)});
    m_feed->end();
    QVERIFY(!m_session->isStopping());
    m_session->stopAndSave();
    m_session->discard();
    QCOMPARE(m_feed->asked.size(), 5);
  }

  void discardGivesTheSaveUpAtOnce() {
    m_session->discard();
    QCOMPARE(m_feed->asked, (QStringList{"stop", "stop"}));
  }

  void textsGoWhereTheyBelong() {
    QSignalSpy alerts(m_session.get(), &RunSession::alertsChanged);
    m_feed->tell({{1, 1, LogLine{Severity::Warning, "careful"}},
                  {2, 1, Sample{"The", " goose"}},
                  {3, 1, Alert{"disk-low", "little room", "make some"}},
                  {4, 1, CheckpointSaved{"/runs/goose/checkpoints/step-1", 0.5, 100}},
                  state(RunState::Evaluating, 1, 5),
                  state(RunState::Failed, 1, 6, "no memory")});
    QCOMPARE(m_session->samples().rowCount(), 1);
    QCOMPARE(alerts.size(), 1);
    QCOMPARE(m_session->alerts().size(), std::size_t{1});
    QCOMPARE(m_session->stepOfCheckpoint(), 1);
    QStringList log;
    for (int row = 0; row < m_session->log().rowCount(); ++row) log << m_session->log().line(row).message;
    QCOMPARE(log.size(), 3);
    QCOMPARE(log[0], QString("careful"));
    QVERIFY(log[1].contains("checkpoint"));
    QVERIFY(log[2].contains("no memory"));
    QVERIFY(m_session->log().line(2).severity == Severity::Error);
    m_session->dismissAlerts();
    QVERIFY(m_session->alerts().empty());
  }

  void alertsAreBounded() {
    for (int i = 0; i < 1000; ++i) m_feed->tell({{1.0 * i, i, Alert{"loss-spike", std::to_string(i), ""}}});
    QVERIFY(m_session->alerts().size() <= 20);
    QCOMPARE(m_session->alerts().back().message, std::string("999"));
  }
};

QTEST_GUILESS_MAIN(TestRunSession)
#include "test_run_session.moc"
