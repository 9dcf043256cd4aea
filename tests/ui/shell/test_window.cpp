// The window's manners: what it says of runs that die, where the focus is, how small it may be, what keys reach.
#include "bridge/text.h"
#include "charts/live_chart.h"
#include "charts/plot_library.h"
#include "configure/configure_page.h"
#include "configure/field_row.h"
#include "configure/form_section.h"
#include "configure/project_document.h"
#include "configure/project_form.h"
#include "configure/project_lock.h"
#include "engine/hardware.h"
#include "engine/runs.h"
#include "hardware/measure_panel.h"
#include "runs/run_history.h"
#include "runs/run_queue.h"
#include "shell/start_page.h"
#include "style/elided_label.h"
#include "train/alert_bar.h"
#include "train/charts_panel.h"
#include "train/train_page.h"
#include "ui/shell/desk.h"

#include <QComboBox>
#include <QDialog>
#include <QGroupBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QTabWidget>
#include <QToolBar>
#include <QToolButton>
#include <QTreeView>

using namespace millrace;
using namespace millrace::test;
using namespace millrace::ui;

namespace {

QChar mnemonicOf(const QString& text) {
  for (qsizetype i = 0; i + 1 < text.size(); ++i) {
    if (text[i] != u'&') continue;
    if (text[i + 1] != u'&') return text[i + 1].toLower();
    ++i;
  }
  return {};
}

/// Letters that Alt reaches now, each with the texts that claim it.
QMap<QChar, QStringList> mnemonicsOf(QMainWindow& window) {
  QMap<QChar, QStringList> all;
  const auto add = [&](const QString& text) {
    if (const QChar letter = mnemonicOf(text); !letter.isNull()) all[letter] << text;
  };
  for (const QAction* menu : window.menuBar()->actions()) add(menu->text());
  for (const QWidget* widget : window.findChildren<QWidget*>()) {
    if (!widget->isVisible() || !widget->isEnabled()) continue;
    if (const auto* button = qobject_cast<const QAbstractButton*>(widget)) add(button->text());
    if (const auto* box = qobject_cast<const QGroupBox*>(widget)) add(box->title());
    if (const auto* label = qobject_cast<const QLabel*>(widget); label && label->buddy()) add(label->text());
    if (const auto* tabs = qobject_cast<const QTabWidget*>(widget))
      for (int i = 0; i < tabs->count(); ++i) add(tabs->tabText(i));
  }
  return all;
}

/// What nothing but the mouse and Tab reaches. Rows of a kind share one letter, that of the first; what resets a field
/// has none.
QStringList withoutMnemonic(QMainWindow& window) {
  QSet<QString> reached;
  QStringList found;
  for (const QAbstractButton* button : window.findChildren<QAbstractButton*>()) {
    const bool counts = qobject_cast<const QPushButton*>(button) || qobject_cast<const QToolButton*>(button);
    if (!counts || !button->isVisible() || !button->isEnabled() || button->text().isEmpty()) continue;
    if (qobject_cast<const QToolBar*>(button->parentWidget())) continue; // these have keys of their own
    if (mnemonicOf(button->text()).isNull())
      found << button->text();
    else
      reached << QString(button->text()).remove(u'&');
  }
  found.removeIf([&](const QString& text) { return text == u"Reset" || reached.contains(text); });
  return found;
}

/// Of the page that is shown: what needs more room than it has, and cannot be scrolled to.
QStringList clipped(QMainWindow& window) {
  QStringList found;
  for (QWidget* widget : window.findChildren<QWidget*>()) {
    if (!widget->isVisible()) continue;
    const bool counts = qobject_cast<QAbstractButton*>(widget) || qobject_cast<QLineEdit*>(widget) ||
                        qobject_cast<QComboBox*>(widget) || qobject_cast<QLabel*>(widget) ||
                        qobject_cast<QGroupBox*>(widget); // whose title is part of its least size
    if (!counts || qobject_cast<QAbstractScrollArea*>(widget->parentWidget())) continue;
    const QString name = QStringLiteral("%1 '%2' %3x%4 in %5")
                             .arg(widget->metaObject()->className(), widget->objectName() + widget->accessibleName())
                             .arg(widget->width())
                             .arg(widget->height())
                             .arg(widget->parentWidget()->metaObject()->className());
    if (widget->minimumSizeHint().width() > widget->width()) found << name + " too narrow";
    // Within its parents up to what scrolls.
    for (QWidget *inner = widget, *outer = inner->parentWidget(); outer; inner = outer, outer = outer->parentWidget()) {
      if (qobject_cast<QAbstractScrollArea*>(outer->parentWidget()) || outer->isWindow()) break;
      const QRect place(inner->mapTo(outer, QPoint()), inner->size());
      if (!outer->rect().contains(place)) found << name + " out of " + outer->metaObject()->className();
    }
  }
  return found;
}

} // namespace

class TestWindow : public QObject {
  Q_OBJECT

 private Q_SLOTS:
  /// Dead under the window's eyes: it says so, and goes on with it.
  void aFollowedRunThatIsKilledCanBeResumed() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    const QString directory = folder.filePath("runs/goose-1");
    Child child({"train", project, "--run-dir", directory, "--json", "--set", "checkpoint.every=5"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":12,"));
    window.open(directory);
    TRY(desk.step() >= 12);
    QCOMPARE(desk.session()->name(), QString("goose-1"));
    QVERIFY(window.findChild<ChartsPanel*>()->isAncestorOf(QApplication::focusWidget()));
    child.signal(SIGKILL);
    QVERIFY(!child.wait().finished);
    TRY(desk.find<ElidedLabel>("runState")->text() == "Interrupted");
    QVERIFY2(desk.find<QLabel>("runReason")->text().contains("killed"),
             qPrintable(desk.find<QLabel>("runReason")->text()));
    const QString figures = desk.find<ElidedLabel>("runFigures")->text();
    QVERIFY2(!figures.contains("left") && !figures.contains("tokens/s"), qPrintable(figures));
    QVERIFY(desk.isEnabled("resumeDetachedButton"));
    QVERIFY(!desk.isEnabled("pauseButton") && !desk.isEnabled("stopButton"));
    // The Start page knows as well, without having been asked.
    TRY(desk.find<QPushButton>("resumeInterrupted"));
    desk.click("resumeRunButton");
    TRY(desk.session()->feed().inProcess() && desk.step() > 12);
    window.showPage(MainWindow::Page::Start);
    TRY(!desk.find<QPushButton>("resumeInterrupted")); // it is at work again
    window.showPage(MainWindow::Page::Train);
    desk.click("stopButton");
    TRY(desk.session()->feed().link() == FeedLink::Ended);
  }

  /// Its checkpoints are what is gone on from, whatever became of its records.
  void aRunWhoseRecordsAreLostCanBeResumed_data() {
    QTest::addColumn<QStringList>("emptied");
    QTest::addColumn<bool>("removed");
    QTest::newRow("metrics") << QStringList{"metrics.jsonl"} << false;
    QTest::newRow("events") << QStringList{"events.jsonl"} << false;
    QTest::newRow("both") << QStringList{"metrics.jsonl", "events.jsonl"} << false;
    QTest::newRow("both are missing") << QStringList{"metrics.jsonl", "events.jsonl"} << true;
  }
  void aRunWhoseRecordsAreLostCanBeResumed() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    const QString directory = folder.filePath("runs/goose-1");
    Child child({"train", project, "--run-dir", directory, "--json", "--set", "checkpoint.every=5"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":12,"));
    child.signal(SIGINT);
    QCOMPARE(child.wait().code, 4);
    QFETCH(QStringList, emptied);
    QFETCH(bool, removed);
    for (const QString& name : emptied) {
      QFile file(directory + '/' + name);
      QVERIFY(removed ? file.remove() : file.resize(0));
    }
    Desk desk(folder.path());
    desk.open().open(directory);
    TRY(desk.isEnabled("resumeRunButton") && desk.isEnabled("resumeDetachedButton"));
    QCOMPARE(desk.find<ElidedLabel>("runState")->text(), QString("Interrupted"));
    TRY(desk.find<QPushButton>("resumeInterrupted"));
    for (const QLabel* label : desk.window().findChild<StartPage*>()->findChildren<QLabel*>())
      QVERIFY2(!label->text().startsWith("Step 0"), qPrintable(label->text())); // nobody knows which
    desk.click("resumeRunButton");
    TRY(desk.step() > 12);
    desk.click("stopButton");
    TRY(desk.isEnabled("resumeRunButton"));
  }

  /// A model folder from a run's checkpoints; what stands in its way is told in the dialog.
  void exportsTheModelOfARun() {
    QTemporaryDir folder;
    const QString directory = folder.filePath("runs/goose-1"), model = folder.filePath("goose");
    QCOMPARE(runProgram({"train", writeTinyProject(folder.path(), "goose", 30), "--run-dir", directory, "--set",
                         "checkpoint.every=10"})
                 .code,
             0);
    Desk desk(folder.path());
    desk.open().open(directory);
    TRY(desk.find<QAction>("exportAction")->isEnabled());
    desk.find<QAction>("exportAction")->trigger();
    TRY(desk.find<QDialog>("exportDialog"));
    auto* checkpoints = desk.find<QComboBox>("exportCheckpoint");
    TRY(checkpoints->count() >= 4); // newest, best, and those that are kept
    checkpoints->setCurrentIndex(checkpoints->findText("Step 20"));
    auto* place = desk.find<QLineEdit>("exportFolder");
    auto* message = desk.find<QLabel>("exportMessage");
    place->clear();
    QVERIFY(!desk.isEnabled("exportBegin"));
    QTest::keyClicks(place, model);
    desk.click("exportBegin");
    TRY(desk.isEnabled("exportShow"));
    QVERIFY2(message->text().startsWith("Step 20 is exported"), qPrintable(message->text()));
    const QJsonObject config = QJsonDocument::fromJson(readFile(model + "/config.json")).object();
    QCOMPARE(config["model_type"].toString(), QString("llama"));
    QVERIFY(readFile(model + "/config.json").contains("bfloat16"));
    QVERIFY(QFile::exists(model + "/model.safetensors") && QFile::exists(model + "/tokenizer.json"));
    desk.click("exportBegin"); // over what is there
    TRY(message->text().contains("empty"));
    QVERIFY(!desk.isEnabled("exportShow"));
    desk.click("exportClose");
    TRY(!desk.find<QDialog>("exportDialog"));
  }

  void skippedRowsAreTold() {
    QTemporaryDir folder;
    const QString directory = folder.filePath("runs/goose-1");
    QCOMPARE(runProgram({"train", writeTinyProject(folder.path(), "goose", 30), "--run-dir", directory}).code, 0);
    QList<QByteArray> lines = readFile(directory + "/metrics.jsonl").split('\n');
    lines[6] = "{\"step\": 7";
    lines[8].clear();
    writeFile(directory + "/metrics.jsonl", lines.join('\n'));
    Desk desk(folder.path());
    desk.open().open(directory);
    TRY(desk.session() && desk.session()->feed().link() == FeedLink::Ended);
    QCOMPARE(desk.session()->steps()->rows(), 28);
    QStringList told;
    for (int row = 0; row < desk.session()->log().rowCount(); ++row)
      if (const auto& line = desk.session()->log().line(row); line.message.contains("skipped")) told << line.message;
    QCOMPARE(told, QStringList("metrics.jsonl: 2 lines are not valid and are skipped, the first is line 7"));
  }

  /// What others broke off meanwhile is there when the page is shown.
  void looksForBrokenOffRunsAgain() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.showPage(MainWindow::Page::Configure);
    Child child({"train", project, "--run-dir", folder.filePath("runs/goose.one"), "--json"});
    QVERIFY(child.start());
    QVERIFY(child.waitForOutput("\"step\":2,"));
    child.signal(SIGINT);
    child.wait();
    window.showPage(MainWindow::Page::Start);
    TRY(desk.find<QPushButton>("resumeInterrupted"));
    QVERIFY2(desk.find<QPushButton>("resumeInterrupted")->accessibleName().contains("goose.one"), "the folder's name");
  }

  void focusIsNeverOnWhatEndsTheRun() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(project);
    TRY(window.document().isValid());
    QTest::keyClick(&window, Qt::Key_F5);
    TRY(desk.step() >= 2);
    const auto onCharts = [&] { return window.findChild<ChartsPanel*>()->isAncestorOf(QApplication::focusWidget()); };
    QVERIFY(onCharts());
    // Kept where a button takes the place of another.
    desk.find<QPushButton>("pauseButton")->setFocus();
    QTest::keyClick(desk.find<QPushButton>("pauseButton"), Qt::Key_Space);
    TRY(desk.session()->state() == RunState::Paused);
    QCOMPARE(QApplication::focusWidget(), desk.find<QWidget>("continueButton"));
    QTest::keyClick(desk.find<QPushButton>("continueButton"), Qt::Key_Space);
    TRY(desk.session()->state() == RunState::Running);
    QCOMPARE(QApplication::focusWidget(), desk.find<QWidget>("pauseButton"));
    desk.find<QPushButton>("stopButton")->setFocus();
    QTest::keyClick(desk.find<QPushButton>("stopButton"), Qt::Key_Space);
    QVERIFY(onCharts());
    TRY(desk.session()->feed().link() == FeedLink::Ended);
    QVERIFY(onCharts());
  }

  void undoDoesNotCrossProjects() {
    QTemporaryDir folder;
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.document().startNew("{\"format\": 1, \"name\": \"first\"}");
    desk.click("template-quickstart");
    const auto texts = window.findChildren<QPlainTextEdit*>();
    const auto json = std::find_if(texts.begin(), texts.end(), [](const QPlainTextEdit* edit) {
      return edit->accessibleName() == "Project as JSON";
    });
    QVERIFY(json != texts.end());
    QPlainTextEdit* text = *json;
    const QString before = text->toPlainText();
    QVERIFY(before.contains("quickstart"));
    QVERIFY(!text->document()->isUndoAvailable());
    text->undo();
    QCOMPARE(text->toPlainText(), before);
    window.document().startNew({});
  }

  void mnemonicsAreOfOneThingEach_data() {
    QTest::addColumn<QString>("page");
    for (const char* page :
         {"start",    "interrupted", "answer",       "configure", "wrong",    "changed",    "json",    "no run",
          "running",  "log",         "alerts",       "paused",    "ended",    "branch",     "no runs", "runs",
          "gone run", "run charts",  "run settings", "queue",     "hardware", "playground", "chat"})
      QTest::newRow(page) << page;
  }
  void mnemonicsAreOfOneThingEach() {
    QFETCH(QString, page);
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 100'000);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    if (page == "answer") {
      desk.click("askPlanner");
      TRY(desk.isEnabled("makeProject"));
    } else if (page == "interrupted") {
      QThreadPool::globalInstance()->waitForDone();
      QCoreApplication::processEvents(); // what was looked for is not there
      window.findChild<StartPage*>()->setInterrupted({{"a", "/a", "killed", 1, 1}, {"b", "/b", "killed", 1, 1}});
    } else if (page != "start") {
      window.open(project);
      TRY(window.document().isValid());
    }
    if (page == "wrong") window.document().setValue("training.context", 0);
    if (page == "wrong") TRY(window.document().error());
    if (page == "changed") writeFile(project, readFile(project) + "\n");
    if (page == "changed") TRY(desk.isEnabled("keepProject"));
    if (page == "json") window.findChild<ConfigurePage*>()->findChild<QTabWidget*>()->setCurrentIndex(1);
    if (page == "no run") window.showPage(MainWindow::Page::Train);
    if (page == "branch") window.findChild<ConfigurePage*>()->setBeginning("a checkpoint");
    if (page == "no runs") window.showPage(MainWindow::Page::Runs);
    if (page == "runs" || page == "gone run" || page == "run charts" || page == "run settings" || page == "queue") {
      TRY(window.queue().isReady());
      for (int i = 0; i < 3; ++i) window.queue().add({.title = "swan", .project = "{}", .source = "swan.json"});
      window.queue().setFailed(window.queue().runs()[1].id, "no room");
      window.findChild<QAction*>("startAction")->trigger();
      TRY(desk.step() >= 2);
      const QString run = desk.session()->feed().place();
      desk.click("checkpointButton");
      TRY(desk.session()->stepOfCheckpoint() > 0);
      desk.session()->stopAndSave();
      TRY(desk.session()->feed().link() == FeedLink::Ended);
      if (page == "gone run") QVERIFY(QDir(run).removeRecursively());
      window.showPage(MainWindow::Page::Runs);
      window.history().refresh();
      TRY(desk.find<QPushButton>("pinThisRun")->isVisible() && !window.history().isLooking());
      desk.find<QLineEdit>("runFilter")->setText("goose"); // so that there is something to clear
      const int tab = page == "run charts" ? 1 : page == "run settings" ? 2 : page == "queue" ? 3 : 0;
      desk.find<QTabWidget>("runsTabs")->setCurrentIndex(tab);
      auto* queue = desk.find<QTreeView>("queueView");
      queue->setCurrentIndex(queue->model()->index(1, 0));
      if (page == "runs") QVERIFY(desk.isEnabled("resumeThisRun") && desk.isEnabled("deleteThisRun"));
      if (page == "gone run") QVERIFY(desk.isEnabled("forgetThisRun"));
      if (page == "queue") QVERIFY(desk.isEnabled("queueRetry") && desk.isEnabled("queueUp"));
    }
    if (page == "hardware") {
      window.showPage(MainWindow::Page::Hardware);
      TRY(desk.isEnabled("measureBegin") && desk.isEnabled("lookAgain"));
    } else if (page == "playground" || page == "chat") {
      const QString directory = folder.filePath("runs/goose-1");
      QCOMPARE(runProgram({"train", project, "--run-dir", directory, "--set", "training.steps=5"}).code, 0);
      window.showPage(MainWindow::Page::Playground);
      desk.find<QComboBox>("modelPlace")->setEditText(directory);
      desk.click("modelLoad");
      TRY(desk.isEnabled("modelUnload"));
      if (page == "chat") desk.find<QTabWidget>("playgroundTabs")->setCurrentIndex(1);
      auto* input = desk.find<QPlainTextEdit>(page == "chat" ? "chatMessage" : "prompt");
      input->setPlainText("Once");
      desk.click("generateButton");
      TRY(desk.isEnabled("copyAnswer"));
      input->setPlainText("Once more"); // so that everything can be pressed
    }
    if (page == "running" || page == "log" || page == "alerts" || page == "paused" || page == "ended") {
      window.findChild<QAction*>("startAction")->trigger();
      TRY(desk.step() >= 2);
      if (page == "log") desk.find<QTabWidget>("runTabs")->setCurrentIndex(1);
      if (page == "alerts")
        window.findChild<AlertBar*>()->setAlerts({{"a", "b", "c"}, {"a", "b", "c"}, {"a", "b", "c"}});
      if (page == "alerts") desk.click("olderAlert");
      if (page == "paused") {
        desk.click("pauseButton");
        TRY(desk.isEnabled("continueButton"));
      } else if (page == "ended") {
        desk.click("stopButton");
        TRY(desk.isEnabled("resumeRunButton"));
      }
    }
    auto* form = window.findChild<ProjectForm*>();
    auto* sections = form->findChild<QListWidget*>(QString(), Qt::FindDirectChildrenOnly);
    for (int section = 0; section < (form->isVisible() ? sections->count() : 1); ++section) {
      sections->setCurrentRow(section);
      for (FormSection* each : form->findChildren<FormSection*>()) each->unfold();
      const auto mnemonics = mnemonicsOf(window);
      QVERIFY(mnemonics.size() > 4);
      for (const QStringList& texts : mnemonics) QVERIFY2(texts.size() == 1, qPrintable(texts.join(", ")));
      QCOMPARE(withoutMnemonic(window), QStringList());
    }
    if (desk.session()) {
      desk.session()->discard();
      TRY(!window.runs().hasRunHere());
    }
  }

  void menusHaveMnemonics() {
    QTemporaryDir folder;
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    QList<QMenu*> menus;
    for (const QAction* action : window.menuBar()->actions()) menus << action->menu();
    menus << desk.find<QPushButton>("exportChart")->menu();
    QCOMPARE(menus.size(), 5);
    for (const QMenu* menu : menus) {
      QSet<QChar> letters;
      for (const QAction* action : menu->actions()) {
        if (action->isSeparator()) continue;
        const QChar letter = mnemonicOf(action->text());
        QVERIFY2(!letter.isNull() && !letters.contains(letter), qPrintable(action->text()));
        letters << letter;
      }
    }
  }

  void questionsHaveMnemonics() {
    QTemporaryDir folder;
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.document().setValue("name", "changed");
    window.close();
    auto* question = desk.find<QMessageBox>("unsavedQuestion");
    QVERIFY(question);
    QSet<QChar> letters;
    for (const QAbstractButton* button : question->buttons()) letters << mnemonicOf(button->text());
    QCOMPARE(letters.size(), 3);
    QVERIFY(!letters.contains(QChar()));
    question->done(QMessageBox::Cancel);
    window.document().startNew({});
  }

  /// The lock is another process's.
  void aProjectThatIsOpenElsewhere() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 30);
    Child other({"600"}, {}, "sleep");
    QVERIFY(other.start());
    writeFile(lockFileOf(project), QByteArray::number(other.process().processId()) + "\nsleep\n" +
                                       QSysInfo::machineHostName().toUtf8() + '\n');
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(project, {"training.steps=77"});
    TRY(desk.find<QMessageBox>("openElsewhereQuestion"));
    auto* question = desk.find<QMessageBox>("openElsewhereQuestion");
    QVERIFY(question->text().contains(QString("sleep (process %1").arg(other.process().processId())));
    QSet<QChar> letters;
    for (const QAbstractButton* button : question->buttons()) letters << mnemonicOf(button->text());
    QCOMPARE(letters.size(), 3);
    QVERIFY(!letters.contains(QChar()));
    desk.click("openReadOnly");
    TRY(window.document().isReadOnly() && window.document().isValid());
    QVERIFY2(window.windowTitle().contains("read-only"), qPrintable(window.windowTitle()));
    QVERIFY(toQt(window.document().text()).contains("77")); // as was asked for
    window.document().startNew({});
    window.open(project);
    TRY(desk.find<QMessageBox>("openElsewhereQuestion"));
    desk.find<QMessageBox>("openElsewhereQuestion")->done(QMessageBox::Cancel);
    QVERIFY(window.document().filePath().isEmpty());
    other.signal(SIGKILL);
    other.wait();
    TRY(!desk.find<QMessageBox>("openElsewhereQuestion"));
    window.open(project); // the lock of a process that is gone
    TRY(window.document().filePath() == project);
    QVERIFY(!window.document().isReadOnly());
  }

  void isAsSmallAsItNeedsToBe_data() {
    QTest::addColumn<int>("page");
    QTest::addColumn<QSize>("size");
    for (const QSize size :
         {QSize(800, 600), QSize(800, 500), QSize(640, 480), QSize()}) // the last: as small as it goes
      for (const auto& [page, name] :
           {std::pair{MainWindow::Page::Start, "start"}, std::pair{MainWindow::Page::Configure, "configure"},
            std::pair{MainWindow::Page::Train, "train"}, std::pair{MainWindow::Page::Runs, "runs"},
            std::pair{MainWindow::Page::Hardware, "hardware"}, std::pair{MainWindow::Page::Playground, "playground"}})
        (size.isValid() ? QTest::addRow("%s %dx%d", name, size.width(), size.height())
                        : QTest::addRow("%s, least", name))
            << static_cast<int>(page) << size;
  }
  void isAsSmallAsItNeedsToBe() {
    QFETCH(int, page);
    QFETCH(QSize, size);
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 30);
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(project);
    TRY(window.document().isValid());
    window.findChild<QAction*>("startAction")->trigger();
    TRY(desk.session() && desk.session()->feed().link() == FeedLink::Ended);
    const QSize least = window.minimumSizeHint();
    QVERIFY2(least.width() <= 640 && least.height() <= 480,
             qPrintable(QString("%1x%2").arg(least.width()).arg(least.height())));
    window.showPage(static_cast<MainWindow::Page>(page));
    window.resize(size.isValid() ? size : least);
    QTest::qWait(50);
    QCOMPARE(window.size(), size.isValid() ? size : least);
    const QStringList found = clipped(window);
    QVERIFY2(found.isEmpty(), qPrintable(found.join('\n')));
    // Titles of charts stand upright beside their axis.
    for (const LiveChart* chart : window.findChildren<LiveChart*>()) {
      const auto* plot = chart->findChild<QCustomPlot*>();
      if (!chart->isVisible() || plot->axisRect()->rect().isEmpty()) continue;
      const double half = QFontMetricsF(plot->yAxis->labelFont()).horizontalAdvance(plot->yAxis->label()) / 2;
      const double middle = plot->axisRect()->rect().center().y();
      QVERIFY2(half < middle && half < plot->height() - middle, qPrintable(plot->yAxis->label()));
    }
  }

  void tellsWhatIsMissing() {
    QTemporaryDir folder;
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    desk.find<QComboBox>("askModel")->setCurrentText("llama-3-405b");
    QTest::keyClicks(desk.find<QLineEdit>("askRam"), "16GiB");
    desk.click("askPlanner");
    TRY(desk.isEnabled("makeProject"));
    const QString reason = desk.find<QLabel>("answerReason")->text();
    QVERIFY2(reason.startsWith("Host memory is too small"), qPrintable(reason));
    const auto textsShown = [&] {
      QString texts;
      for (const QLabel* label : window.findChild<StartPage*>()->findChildren<QLabel*>())
        if (label->isVisible()) texts += label->text() + '\n';
      return texts;
    };
    TRY(textsShown().contains("; limit: ")); // new labels are shown a little later
    const QString texts = textsShown();
    QVERIFY2(!texts.contains("memory."), qPrintable(texts)); // no setting that is not on the page
    QVERIFY2(texts.contains("too much"), qPrintable(texts));
    // The worst comes first.
    const auto topOf = [&](const QString& title) {
      for (const QLabel* label : window.findChild<StartPage*>()->findChildren<QLabel*>())
        if (label->isVisible() && label->text() == title) return label->mapToGlobal(QPoint()).y();
      return -1;
    };
    QTRY_VERIFY(topOf("Device memory") > 0 && topOf("Host memory") < topOf("Device memory"));
  }

  void asksWithWhatWouldCompute_data() {
    QTest::addColumn<QString>("machine");
    QTest::addColumn<QString>("words");
    QTest::newRow("a GPU") << "h200"
                           << "bf16; 65,536 tokens a step";
    const bool gpu = gpuNotices(inspectMachine({})).empty() && !inspectMachine({}).nvidia.gpus.empty();
    QTest::newRow("this machine") << "" << (gpu ? "bf16; 65,536 tokens a step" : "fp32; 4,096 tokens a step");
  }
  void asksWithWhatWouldCompute() {
    QLocale::setDefault(QLocale(QLocale::English, QLocale::UnitedStates));
    QTemporaryDir folder;
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    auto* machines = desk.find<QComboBox>("askMachine");
    QFETCH(QString, machine);
    machines->setCurrentIndex(machines->findData(machine));
    desk.click("askPlanner");
    TRY(desk.isEnabled("makeProject"));
    QFETCH(QString, words);
    const QString facts = desk.find<QLabel>("answerFacts")->text();
    QVERIFY2(facts.contains(words), qPrintable(facts));
    desk.click("makeProject");
    QVERIFY(toQt(window.document().text()).contains(words.left(4)));
    window.document().startNew({});
  }

  /// What the Hardware page has measured is what the project is planned with, at once.
  void measuredRatesFeedThePlan() {
    QTemporaryDir folder;
    qputenv("XDG_CACHE_HOME", QFile::encodeName(folder.path()));
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    const auto textsOfThePlan = [&] {
      QString texts;
      for (const QLabel* label : window.findChild<ConfigurePage*>()->findChildren<QLabel*>())
        texts += label->text() + '\n';
      return texts;
    };
    window.open(writeTinyProject(folder.path(), "goose", 30));
    TRY(textsOfThePlan().contains("assumed, from data sheets"));
    window.showPage(MainWindow::Page::Hardware);
    window.findChild<MeasurePanel*>()->probe().setSeconds(0.01);
    TRY(desk.isEnabled("measureBegin"));
    auto* device = desk.find<QComboBox>("measureDevice");
    device->setCurrentIndex(device->findData("cpu"));
    desk.click("measureBegin");
    TRY(desk.isEnabled("measureBegin"));
    TRY(textsOfThePlan().contains("measured on this machine"));
    window.document().startNew({});
    qunsetenv("XDG_CACHE_HOME");
  }

  void thePageBarIsReachedByTab() {
    QTemporaryDir folder;
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    auto* bar = desk.find<QToolBar>("pageBar");
    QSet<QWidget*> reached;
    for (int i = 0; i < 60; ++i) {
      QTest::keyClick(QApplication::focusWidget() ? QApplication::focusWidget() : &window, Qt::Key_Tab);
      if (QWidget* focus = QApplication::focusWidget(); focus && bar->isAncestorOf(focus)) reached.insert(focus);
    }
    QCOMPARE(reached.size(), 6);
    QTest::keyClick(bar->widgetForAction(bar->actions().at(1)), Qt::Key_Space);
    QVERIFY(window.page() == MainWindow::Page::Configure);
  }

  void placesHaveOneName() {
    QTemporaryDir folder;
    const QString project = writeTinyProject(folder.path(), "goose", 30);
    QVERIFY(QFile::rename(project, folder.filePath("file.json")));
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.open(folder.filePath("file.json"));
    TRY(window.document().isValid());
    QVERIFY2(window.windowTitle().startsWith("goose"), qPrintable(window.windowTitle()));
    auto* projects = desk.find<QListWidget>("recentProjects");
    TRY(projects->item(0)->text().startsWith("goose"));
    QVERIFY(projects->item(0)->text().contains("file.json"));
    window.findChild<QAction*>("startAction")->trigger();
    TRY(desk.session() && desk.session()->feed().link() == FeedLink::Ended);
    QCOMPARE(desk.session()->name(), QFileInfo(desk.onlyRun()).fileName());
    const QString row = desk.find<QListWidget>("recentRuns")->item(0)->text();
    QVERIFY2(row.startsWith(desk.session()->name() + " "), qPrintable(row));
  }

  /// A run that never came to be has no folder and no progress.
  void notStarted() {
    QTemporaryDir folder;
    Desk desk(folder.path());
    MainWindow& window = desk.open();
    window.runs().openRun(folder.filePath("nothing"));
    TRY(desk.session() && desk.session()->feed().link() == FeedLink::Ended);
    QVERIFY(!desk.find<QWidget>("runProgress")->isVisible());
    QVERIFY(!desk.isEnabled("folderButton"));
  }
};

QTEST_MAIN(TestWindow)
#include "test_window.moc"
