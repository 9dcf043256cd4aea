#include "bridge/text.h"
#include "charts/live_chart.h"
#include "engine/runs.h"
#include "run/written_run.h"
#include "runs/difference_model.h"
#include "runs/overlay_charts.h"
#include "runs/run_history.h"
#include "runs/run_queue.h"
#include "runs/runs_page.h"

#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QDialog>
#include <QInputDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTabWidget>
#include <QTemporaryDir>
#include <QThreadPool>
#include <QTreeView>
#include <QtTest>

using namespace millrace;
using namespace millrace::ui;
using test::writeRun;
using test::WrittenRun;

#define GOOD(result) QVERIFY2((result).has_value(), (result) ? "" : (result).error().message.c_str())
#define TRY(condition) QTRY_VERIFY_WITH_TIMEOUT(condition, 30'000)

class TestRunsPage : public QObject {
  Q_OBJECT

  LocalFileSystem m_files;
  std::unique_ptr<QTemporaryDir> m_folder;
  std::unique_ptr<QSettings> m_settings;
  std::unique_ptr<RunHistory> m_history;
  std::unique_ptr<RunQueue> m_queue;
  std::unique_ptr<RunsPage> m_page;

  QString at(const QString& name) const { return m_folder->filePath("runs/" + name); }
  void write(const QString& name, const WrittenRun& run) { GOOD(writeRun(m_files, toPath(at(name)), run)); }
  void open() {
    m_history = std::make_unique<RunHistory>(*m_settings);
    m_queue = std::make_unique<RunQueue>(m_folder->filePath("queue.json"));
    m_page = std::make_unique<RunsPage>(*m_history, *m_queue, QString());
    m_page->resize(1200, 800);
    m_page->show();
    TRY(m_history->isLoaded() && !m_history->isLooking());
  }
  template <class Widget>
  Widget* find(const char* name) {
    return m_page->findChild<Widget*>(QString::fromLatin1(name));
  }
  void click(const char* name) {
    auto* button = find<QPushButton>(name);
    QVERIFY2(button && button->isVisible() && button->isEnabled(), name);
    QTest::mouseClick(button, Qt::LeftButton);
  }
  QStringList shown() {
    QStringList names;
    const QAbstractItemModel* model = find<QTreeView>("runTable")->model();
    for (int row = 0; row < model->rowCount(); ++row) names << model->index(row, 0).data().toString();
    names.sort();
    return names;
  }
  static WrittenRun run(std::int64_t steps) {
    WrittenRun run;
    run.steps = steps;
    run.evaluations = {{10, 4.5}, {20, 4.25}};
    return run;
  }

 private Q_SLOTS:
  void initTestCase() { QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates)); }
  void init() {
    m_folder = std::make_unique<QTemporaryDir>();
    m_settings = std::make_unique<QSettings>(m_folder->filePath("settings.ini"), QSettings::IniFormat);
    qputenv("XDG_DATA_HOME", QFile::encodeName(m_folder->filePath("data")));
    qputenv("MILLRACE_RUNS", QFile::encodeName(m_folder->filePath("runs")));
  }
  void cleanup() {
    m_page.reset();
    m_queue.reset();
    m_history.reset();
    QThreadPool::globalInstance()->waitForDone();
  }

  void withoutRunsItSaysHowToComeToOne() {
    open();
    QSignalSpy configure(m_page.get(), &RunsPage::configureRequested);
    click("runsConfigure");
    QCOMPARE(configure.count(), 1);
    QVERIFY(!find<QTreeView>("runTable")->isVisible());
  }

  /// Before there is any run something may wait to become the first.
  void aQueueIsInSightWithoutRuns() {
    open();
    m_queue->open();
    TRY(m_queue->isReady());
    m_queue->add({.title = "goose", .project = "{}"});
    m_page->showQueue();
    QVERIFY(find<QTreeView>("queueView")->isVisible());
    m_history->refresh();
    TRY(!m_history->isLooking());
    QVERIFY(find<QTreeView>("queueView")->isVisible());
    m_queue->remove(m_queue->runs()[0].id);
    QVERIFY(find<QPushButton>("runsConfigure")->isVisible());
  }

  void filters() {
    write("goose", run(20));
    WrittenRun stopped = run(10);
    stopped.end = RunState::Interrupted;
    stopped.reason = "on request";
    write("swan", stopped);
    GOOD(writeRunNotes(m_files, toPath(at("swan")), {{"long context"}, "twice the rate"}));
    open();
    QCOMPARE(shown(), (QStringList{"goose", "swan"}));
    QTest::keyClicks(find<QLineEdit>("runFilter"), "RATE swan");
    QCOMPARE(shown(), QStringList{"swan"});
    QVERIFY2(find<QLabel>("runCount")->text().contains("1 of 2"), qPrintable(find<QLabel>("runCount")->text()));
    find<QLineEdit>("runFilter")->clear();
    find<QComboBox>("stateFilter")->setCurrentText("Finished");
    QCOMPARE(shown(), QStringList{"goose"});
    find<QComboBox>("stateFilter")->setCurrentIndex(0);
    find<QComboBox>("tagFilter")->setCurrentText("long context");
    QCOMPARE(shown(), QStringList{"swan"});
  }

  void saysWhyARunWasInterrupted() {
    WrittenRun stopped = run(30);
    stopped.end = RunState::Interrupted;
    stopped.reason = "stopped on request";
    stopped.checkpoints = {30};
    write("swan", stopped);
    open();
    const QString state = find<QLabel>("detailsState")->text();
    QVERIFY2(state.contains("Interrupted") && state.contains("stopped on request"), qPrintable(state));
    QSignalSpy resume(m_page.get(), &RunsPage::resumeRequested), queue(m_page.get(), &RunsPage::queueRequested);
    click("resumeThisRun");
    QCOMPARE(resume.value(0).value(0).toString(), at("swan"));
    click("queueThisRun");
    QCOMPARE(queue.value(0).value(0).toString(), at("swan"));
  }

  /// What a resume would mean is told before it is asked for.
  void withoutCheckpointsAResumeBeginsAnew() {
    WrittenRun stopped = run(30);
    stopped.end = RunState::Interrupted;
    write("swan", stopped);
    open();
    QVERIFY2(find<QPushButton>("resumeThisRun")->text().contains("beginning"),
             qPrintable(find<QPushButton>("resumeThisRun")->text()));
    QVERIFY(!find<QPushButton>("branchThisRun")->isEnabled());
  }

  void tagsAndNotesLieBesideTheRun() {
    write("goose", run(20));
    open();
    QTest::keyClicks(find<QLineEdit>("runTags"), "good,  long   context, good");
    QTest::keyClick(find<QLineEdit>("runTags"), Qt::Key_Return);
    QTest::keyClicks(find<QPlainTextEdit>("runNotes"), "as expected");
    QTest::keyClick(find<QPlainTextEdit>("runNotes"), Qt::Key_Return, Qt::ControlModifier);
    const RunNotes expected{{"good", "long context"}, "as expected"};
    const auto kept = [&] {
      const auto notes = readRunNotes(m_files, toPath(at("goose")));
      return notes && *notes == expected;
    };
    TRY(kept());
    QVERIFY(find<QComboBox>("tagFilter")->findText("long context") > 0);
  }

  /// A look at the disk while somebody types takes no word away.
  void whatIsBeingTypedStays() {
    write("goose", run(20));
    open();
    QTest::keyClicks(find<QPlainTextEdit>("runNotes"), "half a sen");
    write("swan", run(20));
    m_history->refresh();
    TRY(shown().size() == 2);
    QCOMPARE(find<QPlainTextEdit>("runNotes")->toPlainText(), "half a sen");
    m_page->select({at("swan")}); // handed over with the run that it is of
    TRY(m_history->find(at("goose"))->notes == "half a sen");
    QCOMPARE(find<QPlainTextEdit>("runNotes")->toPlainText(), QString());
  }

  void comparesWhatIsSelected() {
    write("goose", run(100));
    WrittenRun other = run(60);
    other.settings["training"] = {{"steps", 100}, {"learning_rate", 0.5}, {"context", 32}};
    other.tokenizer = R"({"other": true})";
    write("swan", other);
    open();
    auto* tabs = find<QTabWidget>("runsTabs");
    QAbstractItemModelTester tester(find<QTreeView>("differences")->model());
    tabs->setCurrentIndex(2);
    QVERIFY(find<QLabel>("differencesText")->text().contains("two runs"));
    QVERIFY(!find<QLabel>("comparisonWarnings")->isVisible());
    m_page->select({at("goose"), at("swan")});
    auto* table = find<QTreeView>("differences");
    TRY(table->isVisible() && table->model()->rowCount() > 0);
    QStringList keys;
    for (int row = 0; row < table->model()->rowCount(); ++row) keys << table->model()->index(row, 0).data().toString();
    QVERIFY2(keys.contains("training.learning_rate"), qPrintable(keys.join(' ')));
    QVERIFY(find<QLabel>("comparisonWarnings")->isVisible());
    QVERIFY2(find<QLabel>("comparisonWarnings")->text().contains("tokenizer"),
             qPrintable(find<QLabel>("comparisonWarnings")->text()));
    tabs->setCurrentIndex(1);
    auto* loss = find<LiveChart>("compareLoss");
    TRY(loss->seriesCount() == 2);
    const auto rows = [&] { return loss->series(0).table->rows() + loss->series(1).table->rows(); };
    TRY(rows() == 160);
    QVERIFY(loss->series(0).color != loss->series(1).color);
    QCOMPARE(find<LiveChart>("compareValidation")->series(0).table->rows(), std::int64_t(2));
    for (const auto& [text, kind] : {std::pair{"Tokens", XAxisKind::Tokens}, std::pair{"Time", XAxisKind::Time},
                                     std::pair{"Steps", XAxisKind::Step}}) {
      find<QComboBox>("compareXAxis")->setCurrentText(text);
      QVERIFY(loss->xAxisKind() == kind && find<LiveChart>("compareTokens")->xAxisKind() == kind);
    }
  }

  /// It is drawn first and in the first colour, whatever is selected; its name says so in the legend.
  void theBaselineIsPinned() {
    write("goose", run(20));
    write("swan", run(20));
    open();
    m_page->select({at("swan")});
    click("pinThisRun");
    QCOMPARE(m_history->baseline(), at("swan"));
    m_page->select({at("goose")});
    auto* loss = find<LiveChart>("compareLoss");
    QCOMPARE(loss->seriesCount(), 0); // nobody sees it
    find<QTabWidget>("runsTabs")->setCurrentIndex(1);
    TRY(loss->seriesCount() == 2);
    QVERIFY2(loss->series(0).name.contains("swan") && loss->series(0).name.contains("baseline"),
             qPrintable(loss->series(0).name));
    QCOMPARE(loss->series(0).color, 0);
    find<QTabWidget>("runsTabs")->setCurrentIndex(2);
    TRY(find<QLabel>("differencesText")->text().contains("same"));
    m_page->select({at("swan")});
    find<QTabWidget>("runsTabs")->setCurrentIndex(1);
    TRY(loss->seriesCount() == 1);
    find<QTabWidget>("runsTabs")->setCurrentIndex(0);
    click("pinThisRun");
    QCOMPARE(m_history->baseline(), QString());
  }

  void deletesCheckpointsAndKeepsTheRest() {
    WrittenRun goose = run(40);
    goose.checkpoints = {20, 40};
    goose.best = 20;
    write("goose", goose);
    open();
    click("deleteThisRun");
    auto* dialog = find<QDialog>("deleteDialog");
    QVERIFY(dialog);
    auto* confirm = dialog->findChild<QPushButton*>("confirmDelete");
    TRY(confirm->isEnabled());
    const auto text = [&] { return dialog->findChild<QLabel*>("bytesToFree")->text(); };
    QVERIFY2(text().contains("2 of 2") && text().contains("iB"), qPrintable(text()));
    dialog->findChild<QCheckBox*>("keepBest")->click();
    QVERIFY2(text().contains("1 of 2"), qPrintable(text()));
    dialog->findChild<QCheckBox*>("keepNewest")->click();
    QVERIFY(!confirm->isEnabled());
    dialog->findChild<QCheckBox*>("keepNewest")->click();
    QTest::mouseClick(confirm, Qt::LeftButton);
    TRY(find<QLabel>("detailsMessage")->text().contains("freed"));
    TRY(m_history->find(at("goose"))->checkpoints == 1);
    QVERIFY(QFileInfo(at("goose/checkpoints/step-00000020")).isDir());
    QVERIFY(!QFileInfo::exists(at("goose/checkpoints/step-00000040")));
    find<QTabWidget>("runsTabs")->setCurrentIndex(1);
    auto* loss = find<LiveChart>("compareLoss");
    TRY(loss->seriesCount() == 1 && loss->series(0).table->rows() == 40);
    QVERIFY(QFileInfo(at("goose/metrics.jsonl")).size() > 0);
  }

  void branchesFromAChosenCheckpoint() {
    WrittenRun goose = run(40);
    goose.checkpoints = {20, 40};
    write("goose", goose);
    open();
    QSignalSpy branch(m_page.get(), &RunsPage::branchRequested);
    click("branchThisRun");
    TRY(find<QInputDialog>("branchDialog"));
    auto* dialog = find<QInputDialog>("branchDialog");
    QCOMPARE(dialog->textValue(), "40"); // the newest is offered first
    dialog->setTextValue("20");
    dialog->accept();
    QCOMPARE(branch.count(), 1);
    QVERIFY(branch[0][0].value<BranchPoint>() == (BranchPoint{toPath(at("goose")), 20}));
  }

  void whatIsGoneStaysKnown() {
    write("goose", run(20));
    write("swan", run(20));
    open();
    QVERIFY(QDir(at("goose")).removeRecursively());
    m_history->refresh();
    TRY(!m_history->find(at("goose"))->present);
    m_page->select({at("goose")});
    QVERIFY2(find<QLabel>("detailsState")->text().contains("Gone"), qPrintable(find<QLabel>("detailsState")->text()));
    QVERIFY(!find<QPushButton>("openThisRun")->isEnabled());
    click("forgetThisRun");
    TRY(shown() == QStringList{"swan"});
  }

  void keysOpenARun() {
    write("goose", run(20));
    open();
    QSignalSpy opened(m_page.get(), &RunsPage::openRequested);
    auto* table = find<QTreeView>("runTable");
    table->setFocus();
    table->setCurrentIndex(table->model()->index(0, 0));
    QTest::keyClick(table, Qt::Key_Return);
    QCOMPARE(opened.value(0).value(0).toString(), at("goose"));
  }
};

QTEST_MAIN(TestRunsPage)
#include "test_runs_page.moc"
