#include "app/program.h"
#include "bridge/text.h"
#include "configure/configure_page.h"
#include "configure/project_document.h"
#include "configure/project_form.h"
#include "engine/runs.h"
#include "models/run_columns.h"
#include "shell/main_window.h"
#include "shell/start_page.h"
#include "style/theme.h"
#include "train/run_session.h"
#include "train/train_page.h"
#include "ui/shell/desk.h"

#include <QApplication>
#include <QDir>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QThreadPool>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

namespace {

/// Every step from 1 on, once each.
bool hasAllSteps(const RunSession& session) {
  const MetricTable& steps = *session.steps();
  for (std::int64_t row = 0; row < steps.rows(); ++row)
    if (steps.value(static_cast<int>(StepColumn::Step), row) != static_cast<double>(row + 1)) return false;
  return steps.rows() > 0;
}

/// The window of another process, which is killed: opens the project in the folder, starts it, and tells its steps.
int otherWindow(const QString& folder, bool detached) {
  Desk desk(folder);
  MainWindow& window = desk.open();
  window.open(folder + "/goose.json");
  bool started = false;
  QObject::connect(&window.document(), &ProjectDocument::validated, &window, [&](bool valid) {
    if (!valid || started) return;
    started = true;
    window.findChild<QAction*>(detached ? "startDetachedAction" : "startAction")->trigger();
  });
  QObject::connect(&window.runs(), &RunControl::sessionChanged, &window, [](RunSession* session) {
    QObject::connect(session, &RunSession::stepped, session, [session] {
      QTextStream(stdout) << "step " << session->last()->step << '\n' << Qt::flush;
    });
  });
  return QApplication::exec();
}

} // namespace

class TestWorkbench : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// New from the template, edited, started, paused, resumed, saved, stopped; the window opened anew, and resumed.
  void fromTheTemplateToResume() {
    QTemporaryDir folder;
    Desk desk(folder.path());
    desk.open();
    QVERIFY(desk.window().page() == MainWindow::Page::Start);
    desk.click("template-quickstart");
    QVERIFY(desk.window().page() == MainWindow::Page::Configure);
    ProjectDocument& document = desk.window().document();
    auto* name = desk.window().findChild<ProjectForm*>()->rowOf("name")->editor().findChild<QLineEdit*>();
    name->setFocus();
    name->selectAll();
    QTest::keyClicks(name, "journey");
    QTest::keyClick(name, Qt::Key_Return);
    QCOMPARE(*document.value("name"), Json("journey"));
    document.setValue("training.steps", 5000);
    document.setValue("tokenizer.train.bytes", "256KiB");
    document.setValue("data.cache", folder.filePath("cache").toStdString());
    TRY(document.isValid() && desk.window().findChild<ConfigurePage*>()->canStart());
    QTest::keyClick(&desk.window(), Qt::Key_F5);

    TRY(desk.step() >= 2);
    QVERIFY(desk.window().page() == MainWindow::Page::Train);
    QVERIFY(desk.session()->feed().inProcess());
    QCOMPARE(desk.session()->name(), QFileInfo(desk.onlyRun()).fileName());
    QVERIFY(desk.session()->name().startsWith("journey-"));
    desk.click("pauseButton");
    TRY(desk.session()->state() == RunState::Paused);
    const qint64 paused = desk.step();
    TRY(desk.isEnabled("continueButton"));
    desk.click("continueButton");
    TRY(desk.step() > paused);
    desk.click("checkpointButton");
    TRY(desk.session()->stepOfCheckpoint() > 0);
    TRY(desk.isEnabled("stopButton"));
    desk.click("stopButton");
    TRY(desk.session()->feed().link() == FeedLink::Ended);
    QVERIFY(desk.session()->state() == RunState::Interrupted);
    const qint64 stopped = desk.step();
    QVERIFY(desk.isEnabled("resumeRunButton"));
    QVERIFY(!desk.isEnabled("pauseButton"));
    TRY(desk.find<QPushButton>("resumeInterrupted")); // the page of the start knows at once

    document.startNew({}); // nothing is left to be asked about
    desk.open();
    TRY(desk.find<QPushButton>("resumeInterrupted"));
    desk.click("resumeInterrupted");
    TRY(desk.step() > stopped);
    QVERIFY(hasAllSteps(*desk.session()));
    desk.window().close();
    QVERIFY(desk.window().isVisible());
    auto* question = desk.find<QMessageBox>("closeQuestion");
    QVERIFY(question && question->isVisible());
    desk.click("closeStop");
    TRY(!desk.window().isVisible());
    QVERIFY(!desk.window().runs().hasRunHere());
    LocalFileSystem files;
    const auto isSaved = [&] {
      const auto info = runInfo(files, toPath(desk.onlyRun()));
      return info && info->outcome == RunOutcome::Interrupted && info->checkpoint;
    };
    TRY(isSaved());
  }

  /// Killed while it trains: the next window says so, and goes on from the last checkpoint.
  void killedWhileTraining() {
    QTemporaryDir folder;
    writeTinyProject(folder.path(), "goose", 400);
    {
      Child child({"window", folder.path()}, {}, QCoreApplication::applicationFilePath());
      QVERIFY(child.start());
      QVERIFY(child.waitForOutput("step 20"));
      child.signal(SIGKILL);
      QVERIFY(!child.wait().finished);
    }
    Desk desk(folder.path());
    desk.open();
    TRY(desk.find<QPushButton>("resumeInterrupted"));
    desk.click("resumeInterrupted");
    TRY(desk.session() && desk.session()->state() == RunState::Finished);
    QCOMPARE(desk.step(), 400);
    QVERIFY(hasAllSteps(*desk.session()));
  }

  void followsAHeadlessRun() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Child child({"train", project, "--run-dir", folder.filePath("run"), "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":2,"));
    Desk desk(folder.path());
    desk.open().open(folder.filePath("run"));
    TRY(desk.step() >= 3);
    QVERIFY(!desk.session()->feed().inProcess());
    desk.click("pauseButton");
    TRY(desk.session()->state() == RunState::Paused);
    TRY(desk.isEnabled("continueButton"));
    desk.click("continueButton");
    TRY(desk.session()->state() == RunState::Running);
    // The window may go without a question, and the run goes on.
    desk.window().close();
    QVERIFY(!desk.window().isVisible());
    desk.open().open(folder.filePath("run"));
    TRY(desk.step() >= 3 && desk.isEnabled("stopButton"));
    desk.click("stopButton");
    TRY(desk.session()->state() == RunState::Interrupted);
    QCOMPARE(child.wait().code, 4);
  }

  void detachedRunsOutliveTheWindow() {
    QTemporaryDir folder;
    writeTinyProject(folder.path(), "goose", 1500);
    {
      Child child({"detached", folder.path()}, {}, QCoreApplication::applicationFilePath());
      QVERIFY(child.start());
      QVERIFY(child.waitForOutput("step 10"));
      child.signal(SIGKILL);
      QVERIFY(!child.wait().finished);
    }
    Desk desk(folder.path());
    desk.open().open(desk.onlyRun());
    TRY(desk.session() && desk.session()->state() == RunState::Finished);
    QCOMPARE(desk.step(), 1500);
    QVERIFY(hasAllSteps(*desk.session()));
  }

  /// A run at work is no reason not to ask about the project, and what is asked first is asked again after a change of
  /// mind.
  void closingAsksAboutTheProjectAsWell() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(project);
    TRY(window.document().isValid());
    window.findChild<QAction*>("startAction")->trigger();
    TRY(desk.step() >= 2);
    window.document().setValue("training.learning_rate", 0.125);
    const auto answer = [&](const char* name, QMessageBox::StandardButton button) {
      auto* question = desk.find<QMessageBox>(name);
      QVERIFY2(question && question->isVisible(), name);
      QTest::mouseClick(question->button(button), Qt::LeftButton);
    };
    window.close();
    answer("unsavedQuestion", QMessageBox::Discard);
    answer("closeQuestion", QMessageBox::Cancel);
    TRY(!desk.find<QMessageBox>("closeQuestion"));
    QVERIFY(window.isVisible());
    window.close();
    answer("unsavedQuestion", QMessageBox::Save);
    TRY(desk.find<QMessageBox>("closeQuestion"));
    QVERIFY(readFile(project).contains("0.125"));
    desk.click("closeStop");
    TRY(!window.isVisible());
  }

  /// Closing hands the run over: a program of its own goes on from the checkpoint, to the same end.
  void handsOver() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 3000);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(project);
    TRY(window.document().isValid());
    window.findChild<QAction*>("startAction")->trigger();
    TRY(desk.step() >= 5);
    window.close();
    QVERIFY(window.isVisible());
    desk.click("closeHandOver");
    TRY(!window.isVisible());
    const qint64 handed = desk.step();
    desk.open().open(desk.onlyRun());
    TRY(desk.session() && desk.session()->state() == RunState::Finished);
    QCOMPARE(desk.step(), 3000);
    QVERIFY(handed < 3000);
    QVERIFY(hasAllSteps(*desk.session()));
  }

  /// What could not be saved as the window was closed is told, and the window stays for it.
  void aSaveThatFailsIsTold() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(project);
    TRY(window.document().isValid());
    window.findChild<QAction*>("startAction")->trigger();
    TRY(desk.step() >= 3);
    const QString checkpoints = desk.onlyRun() + "/checkpoints";
    QVERIFY(QDir(checkpoints).removeRecursively());
    writeFile(checkpoints, "in the way");
    window.close();
    desk.click("closeStop");
    TRY(desk.find<QMessageBox>("problem"));
    QVERIFY(window.isVisible());
    QVERIFY2(desk.find<QMessageBox>("problem")->informativeText().contains("checkpoints"),
             qPrintable(desk.find<QMessageBox>("problem")->informativeText()));
    window.close();
    QVERIFY(!window.isVisible());
  }

  void discardKeepsTheLastCheckpoint() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(project, {"checkpoint.every=10"});
    TRY(window.document().isValid());
    window.findChild<QAction*>("startAction")->trigger();
    TRY(desk.session() && desk.session()->stepOfCheckpoint() >= 10);
    desk.click("discardButton");
    auto* question = desk.find<QMessageBox>("discardQuestion");
    QVERIFY(question && question->isVisible());
    desk.click("confirmDiscard");
    TRY(desk.session()->feed().link() == FeedLink::Ended);
    LocalFileSystem files;
    const auto info = runInfo(files, toPath(desk.onlyRun()));
    QVERIFY(info && info->checkpoint);
  }

  void saysWhyItDoesNotStart_data() {
    QTest::addColumn<QString>("setting");
    QTest::addColumn<QString>("words");
    QTest::newRow("does not fit") << "memory.vram_limit=8KiB"
                                  << "device memory is too small";
    QTest::newRow("no data") << "data.sources=nothing.txt"
                             << "nothing.txt: there is no such file or folder";
    QTest::newRow("no project") << "training.steps=0"
                                << "training.steps";
  }
  void saysWhyItDoesNotStart() {
    QFETCH(QString, setting);
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 10);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(project, {setting});
    TRY(window.document().isDirty());
    window.findChild<QAction*>("startAction")->trigger();
    TRY(desk.find<QMessageBox>("problem"));
    QFETCH(QString, words);
    const QString text = desk.find<QMessageBox>("problem")->informativeText();
    QVERIFY2(text.contains(words), qPrintable(text));
    QVERIFY(!desk.session());
    QVERIFY(!QDir(folder.filePath("runs")).exists());
    window.document().startNew({});
  }

  /// Nothing is begun while it is open which of two texts is meant.
  void aFileThatOthersChangedIsNotStarted_data() {
    QTest::addColumn<bool>("keep");
    QTest::newRow("keep") << true;
    QTest::newRow("reload") << false;
  }
  void aFileThatOthersChangedIsNotStarted() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 10);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(project);
    TRY(window.document().isValid());
    window.showPage(MainWindow::Page::Start);
    writeFile(project, readFile(project).replace("10", "20"));
    QTest::keyClick(&window, Qt::Key_F5);
    TRY(desk.isEnabled("keepProject"));
    QVERIFY(window.page() == MainWindow::Page::Configure);
    TRY(QApplication::focusWidget() == desk.find<QWidget>("keepProject"));
    TRY(desk.find<QWidget>("keepProject")->height() > 10); // it has its place
    QVERIFY(!desk.session());
    QFETCH(bool, keep);
    desk.click(keep ? "keepProject" : "reloadProject");
    TRY(!desk.isEnabled("keepProject") && window.document().isValid());
    QTest::keyClick(&window, Qt::Key_F5);
    TRY(desk.session() && desk.session()->state() == RunState::Finished);
    QCOMPARE(desk.step(), keep ? 10 : 20);
    window.document().startNew({});
  }

  void unsavedChangesAreAskedAbout() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 10);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(project, {"training.steps=20"});
    TRY(window.document().isDirty());
    window.close();
    QVERIFY(window.isVisible());
    auto* question = desk.find<QMessageBox>("unsavedQuestion");
    QVERIFY(question);
    QTest::mouseClick(question->button(QMessageBox::Cancel), Qt::LeftButton);
    QVERIFY(window.isVisible());
    TRY(!desk.find<QMessageBox>("unsavedQuestion"));
    window.close();
    QTest::mouseClick(desk.find<QMessageBox>("unsavedQuestion")->button(QMessageBox::Save), Qt::LeftButton);
    TRY(!window.isVisible());
    QVERIFY(readFile(project).contains("20"));
  }

  void opensWhatItIsGiven_data() {
    QTest::addColumn<QString>("place");
    QTest::addColumn<QString>("words"); ///< of what is told; empty: it opens
    QTest::newRow("model folder") << "model"
                                  << "";
    QTest::newRow("folder of something else") << "other"
                                              << "neither a run";
    QTest::newRow("missing project") << "missing.json"
                                     << "missing.json";
    QTest::newRow("no JSON") << "wrong.json"
                             << "wrong.json";
    QTest::newRow("wrong address") << "ssh://-x/r"
                                   << "no address of a run";
  }
  void opensWhatItIsGiven() {
    QFETCH(QString, place);
    QTemporaryDir folder;
    QDir(folder.path()).mkdir("model");
    QDir(folder.path()).mkdir("other");
    writeFile(folder.filePath("model/config.json"), "{}");
    writeFile(folder.filePath("wrong.json"), QByteArray("\x89PNG\0\0", 6));
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(place.startsWith("ssh:") ? place : folder.filePath(place));
    QFETCH(QString, words);
    if (words.isEmpty()) {
      TRY(window.page() == MainWindow::Page::Configure);
      QCOMPARE(toQt(window.document().value("model.folder")->get<std::string>()), folder.filePath(place));
      window.document().startNew({});
      return;
    }
    TRY(desk.find<QMessageBox>("problem") || window.document().parseError());
    if (auto* problem = desk.find<QMessageBox>("problem"))
      QVERIFY2(problem->informativeText().contains(words), qPrintable(problem->informativeText()));
  }

  void remembersWhatWasOpen() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 10);
    Desk desk(folder.path());
    desk.open().open(project);
    TRY(desk.window().page() == MainWindow::Page::Configure);
    desk.window().resize(1111, 777);
    desk.window().close();
    desk.open();
    auto* list = desk.find<QListWidget>("recentProjects");
    TRY(list->item(0)->text().contains("goose.json")); // once their names were read
    QCOMPARE(list->count(), 1);
    QCOMPARE(desk.window().size(), QSize(1111, 777));
    Q_EMIT list->itemActivated(list->item(0));
    TRY(desk.window().page() == MainWindow::Page::Configure);
  }

  /// Pages, menus and buttons without a mouse.
  void keysAlone() {
    QTemporaryDir folder;
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    QTest::keyClick(&window, Qt::Key_2, Qt::ControlModifier);
    QVERIFY(window.page() == MainWindow::Page::Configure);
    QTest::keyClick(&window, Qt::Key_3, Qt::ControlModifier);
    QVERIFY(window.page() == MainWindow::Page::Train);
    QTest::keyClick(&window, Qt::Key_1, Qt::ControlModifier);
    QVERIFY(window.page() == MainWindow::Page::Start);
    // Tab comes to every button of the page.
    QSet<QString> reached;
    desk.find<QPushButton>("template-quickstart")->setFocus();
    for (int i = 0; i < 40; ++i) {
      if (QWidget* focus = QApplication::focusWidget()) reached.insert(focus->objectName());
      QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : &window, Qt::Key_Tab);
    }
    for (const char* name : {"template-quickstart", "openProject", "openRun", "openRemote", "askModel", "askPlanner",
                             "recentProjects", "recentRuns"})
      QVERIFY2(reached.contains(name), name);
    desk.find<QPushButton>("template-quickstart")->setFocus();
    QTest::keyClick(desk.find<QPushButton>("template-quickstart"), Qt::Key_Space);
    QVERIFY(window.page() == MainWindow::Page::Configure);
  }
};

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  if (argc == 3 && QByteArray(argv[1]) == "window") return otherWindow(argv[2], false);
  if (argc == 3 && QByteArray(argv[1]) == "detached") return otherWindow(argv[2], true);
  TestWorkbench test;
  return QTest::qExec(&test, argc, argv);
}
#include "test_workbench.moc"
