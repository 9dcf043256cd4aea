#include "app/program.h"
#include "app/run_files.h"
#include "bridge/text.h"
#include "charts/live_chart.h"
#include "configure/configure_page.h"
#include "configure/project_document.h"
#include "engine/runs.h"
#include "runs/run_history.h"
#include "runs/run_queue.h"
#include "runs/runs_page.h"
#include "ui/shell/desk.h"

#include <QApplication>
#include <QDialog>
#include <QInputDialog>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QTreeView>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

/// What people do with many runs, in the window, on runs that train.
class TestRunsJourney : public QObject {
  Q_OBJECT

  std::unique_ptr<QTemporaryDir> m_folder;
  std::unique_ptr<Desk> m_desk;

  MainWindow& window() { return m_desk->window(); }
  QString at(const QString& name) const { return m_folder->filePath("runs/" + name); }
  QStringList runs() const {
    return QDir(m_folder->filePath("runs")).entryList(QDir::Dirs | QDir::NoDotAndDotDot, QDir::Name);
  }
  void train(const QString& name, const QStringList& settings) {
    QStringList arguments{"train", m_folder->filePath("goose.json"), "--run-dir", at(name)};
    for (const QString& setting : settings) arguments << "--set" << setting;
    const Outcome outcome = runProgram(arguments);
    QVERIFY2(outcome.code == 0, outcome.error.constData());
  }
  const RunEntry* entry(const QString& name) { return window().history().find(at(name)); }
  void showRuns() {
    window().showPage(MainWindow::Page::Runs);
    window().history().refresh();
    TRY(window().history().isLoaded() && !window().history().isLooking());
  }
  void select(const QStringList& names) {
    QStringList paths;
    for (const QString& name : names) paths << at(name);
    window().findChild<RunsPage*>()->select(paths);
  }
  void openProject() {
    window().open(m_folder->filePath("goose.json"));
    TRY(window().document().isValid());
  }
  void trigger(const char* action) { window().findChild<QAction*>(action)->trigger(); }
  bool ended() { return m_desk->session() && m_desk->session()->feed().link() == FeedLink::Ended; }

 private Q_SLOTS:
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    writeTinyProject(m_folder->path(), "goose", 30);
    m_desk = std::make_unique<Desk>(m_folder->path());
  }
  void cleanup() {
    m_desk.reset();
    m_folder.reset();
  }

  /// Two runs that differ in a rate and in what they are validated on: what differs is told, and that it matters.
  void comparesTwoRuns() {
    train("slow", {"training.learning_rate=1e-4"});
    train("fast", {"training.learning_rate=1e-2", "data.validation_fraction=0.2"});
    m_desk->open();
    QTest::keyClick(&window(), Qt::Key_4, Qt::ControlModifier);
    QVERIFY(window().page() == MainWindow::Page::Runs);
    showRuns();
    select({"slow"});
    m_desk->click("pinThisRun");
    select({"fast"});
    TRY(m_desk->find<QLabel>("comparisonWarnings")->isVisible());
    m_desk->find<QTabWidget>("runsTabs")->setCurrentIndex(2);
    auto* table = m_desk->find<QTreeView>("differences");
    QStringList rows;
    for (int row = 0; row < table->model()->rowCount(); ++row) {
      QStringList cells;
      for (int column = 0; column < 3; ++column) cells << table->model()->index(row, column).data().toString();
      rows << cells.join(' ');
    }
    QVERIFY2(rows.contains("training.learning_rate 0.0001 0.01"), qPrintable(rows.join('\n')));
    QVERIFY2(rows.contains("data.validation_fraction 0.05 0.2"), qPrintable(rows.join('\n')));
    m_desk->find<QTabWidget>("runsTabs")->setCurrentIndex(1);
    auto* loss = m_desk->find<LiveChart>("compareLoss");
    TRY(loss->seriesCount() == 2);
    TRY(loss->series(0).table->rows() == 30 && loss->series(1).table->rows() == 30);
    QVERIFY(loss->series(0).name.startsWith("slow"));
  }

  /// Stopped, its checkpoints deleted: the disk is free, the metrics are still there.
  void givesUpEarly() {
    m_desk->open();
    window().open(m_folder->filePath("goose.json"), {"training.steps=100000", "checkpoint.every=5"});
    TRY(window().document().isValid());
    trigger("startAction");
    TRY(m_desk->step() >= 12 && m_desk->session()->stepOfCheckpoint() >= 10);
    m_desk->click("stopButton");
    TRY(ended());
    const QString name = runs().value(0);
    const qint64 step = m_desk->step();
    showRuns();
    select({name});
    QVERIFY(entry(name)->checkpoints > 0 && entry(name)->checkpointBytes > 0);
    QVERIFY2(m_desk->find<QLabel>("detailsState")->text().startsWith("Interrupted: "),
             qPrintable(m_desk->find<QLabel>("detailsState")->text()));
    QVERIFY(m_desk->isEnabled("resumeThisRun"));
    m_desk->click("deleteThisRun");
    TRY(m_desk->isEnabled("confirmDelete"));
    m_desk->click("confirmDelete");
    TRY(entry(name)->checkpoints == 0);
    QVERIFY(m_desk->find<QLabel>("detailsMessage")->text().contains("freed"));
    QCOMPARE(entry(name)->step, step);
    QVERIFY(QDir(at(name) + "/checkpoints").entryList({"step-*"}).isEmpty());
    QCOMPARE(figures(at(name)).size(), step);
    m_desk->find<QTabWidget>("runsTabs")->setCurrentIndex(1);
    auto* loss = m_desk->find<LiveChart>("compareLoss");
    TRY(loss->seriesCount() == 1);
    TRY(loss->series(0).table->rows() == step);
    window().document().startNew({});
  }

  /// From an earlier checkpoint, at another rate: a run of its own that has the whole way in its charts.
  void branches() {
    train("goose-1", {"checkpoint.every=10", "checkpoint.keep=9"});
    m_desk->open();
    showRuns();
    select({"goose-1"});
    m_desk->click("branchThisRun");
    TRY(m_desk->find<QInputDialog>("branchDialog"));
    m_desk->find<QInputDialog>("branchDialog")->setTextValue("20");
    m_desk->find<QInputDialog>("branchDialog")->accept();
    TRY(window().page() == MainWindow::Page::Configure && window().document().isValid());
    QVERIFY2(m_desk->find<QLabel>("branchText")->text().contains("20"),
             qPrintable(m_desk->find<QLabel>("branchText")->text()));
    // What must stay is refused by name, before anything is begun.
    window().document().setValue("training.seed", 7);
    TRY(window().document().isValid());
    trigger("startAction");
    TRY(m_desk->find<QMessageBox>("problem"));
    QVERIFY(m_desk->find<QMessageBox>("problem")->informativeText().contains("training.seed"));
    m_desk->find<QMessageBox>("problem")->close();
    window().document().setValue("training.seed", 1);
    window().document().setValue("training.learning_rate", 0.01);
    window().document().setValue("training.steps", 40);
    TRY(window().document().isValid());
    trigger("startAction");
    TRY(ended());
    QVERIFY(m_desk->session()->state() == RunState::Finished);
    QCOMPARE(m_desk->step(), 40);
    QCOMPARE(m_desk->session()->steps()->rows(), std::int64_t(40));
    QStringList made = runs();
    made.removeAll("goose-1");
    QCOMPARE(made.size(), 1);
    const QList<QByteArray> whole = figures(at("goose-1")), branch = figures(at(made[0]));
    QCOMPARE(branch.size(), 40);
    QCOMPARE(branch.mid(0, 20), whole.mid(0, 20));
    QVERIFY(branch[20] != whole[20]);
    window().document().startNew({});
    QVERIFY(!m_desk->find<QLabel>("branchText")->isVisible());
  }

  /// Three lined up while another one is at work: each begins when the one before has ended, in the order that was
  /// chosen; one that cannot begin is told, and passed over where that is wanted.
  void worksThroughAQueue() {
    m_desk->open();
    TRY(window().queue().isReady());
    window().queue().setStopsOnFailure(false);
    openProject();
    trigger("startAction");
    TRY(m_desk->session());
    const auto lineUp = [&](const char* name, const char* key, const Json& value) {
      window().document().setValue("name", name);
      window().document().setValue(key, value);
      TRY(window().document().isParsed());
      trigger("queueAction");
    };
    lineUp("first", "training.steps", 10);
    TRY(window().queue().runs().size() == 1);
    QVERIFY(window().page() == MainWindow::Page::Runs);
    lineUp("wrong", "training.context", 0);
    TRY(window().queue().runs().size() == 2);
    lineUp("last", "training.context", 32);
    TRY(window().queue().runs().size() == 3);
    m_desk->find<QTreeView>("queueView")->setCurrentIndex(m_desk->find<QTreeView>("queueView")->model()->index(2, 0));
    m_desk->click("queueUp");
    m_desk->click("queueUp");
    QCOMPARE(window().queue().runs()[0].title, "last");
    m_desk->click("queueOnOff");
    TRY(window().queue().runs().size() == 1 && window().queue().runs()[0].state == QueuedRun::State::Failed);
    QVERIFY(ended());
    QVERIFY2(window().queue().runs()[0].message.contains("training.context"),
             qPrintable(window().queue().runs()[0].message));
    QVERIFY(!m_desk->find<QMessageBox>("problem"));
    QVERIFY(window().page() == MainWindow::Page::Runs); // nobody was taken away from it
    QStringList names;
    for (const QString& run : runs()) names << run.section('-', 0, 0);
    names.sort();
    QCOMPARE(names, (QStringList{"first", "goose", "last"}));
    for (const QString& run : runs()) QCOMPARE(figures(at(run)).size(), run.startsWith("goose") ? 30 : 10);
    const auto began = [&](const QString& name) {
      for (const QString& run : runs())
        if (run.startsWith(name)) return QFileInfo(at(run) + "/run.json").lastModified();
      return QDateTime();
    };
    QVERIFY(began("goose") <= began("last") && began("last") <= began("first"));
    window().document().startNew({});
  }

  /// A window that closes in the middle leaves its queue to the next, which goes on where it was.
  void theQueueOutlivesTheWindow() {
    m_desk->open();
    TRY(window().queue().isReady());
    window().open(m_folder->filePath("goose.json"), {"training.steps=3000"});
    TRY(window().document().isValid());
    trigger("queueAction");
    TRY(window().queue().runs().size() == 1);
    m_desk->click("queueOnOff");
    TRY(m_desk->step() >= 3);
    window().document().startNew({});
    window().close();
    m_desk->click("closeStop");
    TRY(!window().isVisible());
    const QString name = runs().value(0);
    const auto stopped = figures(at(name)).size();
    m_desk->open();
    TRY(window().queue().isReady());
    QCOMPARE(window().queue().runs().size(), std::size_t(1));
    QVERIFY(window().queue().runs()[0].kind == QueuedRun::Kind::Resume);
    QVERIFY(!m_desk->session()); // begins nothing by itself
    showRuns();
    m_desk->find<QTabWidget>("runsTabs")->setCurrentIndex(3);
    m_desk->click("queueOnOff");
    TRY(window().queue().runs().empty() && ended());
    QVERIFY(m_desk->session()->state() == RunState::Finished);
    QCOMPARE(figures(at(name)).size(), 3000);
    QVERIFY(stopped < 3000);
    QCOMPARE(runs().size(), 1);
  }
};

QTEST_MAIN(TestRunsJourney)
#include "test_runs_journey.moc"
