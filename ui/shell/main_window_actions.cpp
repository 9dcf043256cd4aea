// The window's actions and menus, and when they can be used.
#include "configure/configure_page.h"
#include "runs/run_queue.h"
#include "shell/main_window.h"
#include "style/icons.h"
#include "style/theme.h"
#include "train/run_session.h"
#include "train/train_page.h"

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>

namespace millrace::ui {

namespace {

const QString themeKey = QStringLiteral("window/theme");

} // namespace

void MainWindow::makeActions() {
  const auto make = [this](const QString& text, const QString& iconName, const QKeySequence& shortcut,
                           const QString& name, auto&& triggered) {
    auto* action = new QAction(iconName.isEmpty() ? QIcon() : icon(iconName), text, this);
    action->setShortcut(shortcut);
    action->setObjectName(name);
    connect(action, &QAction::triggered, this, triggered);
    return action;
  };
  m_newAction = make(tr("&New project"), QStringLiteral("configure"), QKeySequence::New, QStringLiteral("newProject"),
                     [this] { newProject({}); });
  m_openProjectAction = make(tr("&Open a project…"), QStringLiteral("folder"), QKeySequence::Open,
                             QStringLiteral("openProjectAction"), [this] { chooseProject(); });
  m_saveAction = make(tr("&Save the project"), QStringLiteral("save"), QKeySequence::Save, QStringLiteral("saveAction"),
                      [this] { saveProject(); });
  m_saveAsAction = make(tr("Save the project &as…"), {}, QKeySequence::SaveAs, QStringLiteral("saveAsAction"),
                        [this] { m_configure->chooseSaveAs(); });
  m_openRunAction = make(tr("Open a &run…"), QStringLiteral("chart"), Qt::CTRL | Qt::Key_R,
                         QStringLiteral("openRunAction"), [this] { chooseRun(); });
  m_openRemoteAction =
      make(tr("&Follow a run on another machine…"), QStringLiteral("remote"), Qt::CTRL | Qt::SHIFT | Qt::Key_R,
           QStringLiteral("openRemoteAction"), [this] { askRemote(); });
  m_quitAction = make(tr("&Quit"), {}, QKeySequence::Quit, QStringLiteral("quitAction"), [this] { close(); });
  m_startAction = make(tr("&Start"), QStringLiteral("play"), Qt::Key_F5, QStringLiteral("startAction"),
                       [this] { startRun(false); });
  m_startDetachedAction = make(tr("Start &detached"), QStringLiteral("play"), Qt::SHIFT | Qt::Key_F5,
                               QStringLiteral("startDetachedAction"), [this] { startRun(true); });
  m_startDetachedAction->setToolTip(tr("Train in a program of its own, which outlives this window"));
  m_queueAction = make(tr("Add to the &queue"), QStringLiteral("queue"), Qt::CTRL | Qt::Key_F5,
                       QStringLiteral("queueAction"), [this] { addToQueue(); });
  m_queueAction->setToolTip(tr("Train the project that is open once the runs before it have ended"));
  const auto steer = [this](void (RunSession::*request)()) {
    return [this, request] {
      if (RunSession* session = m_runs->session()) (session->*request)();
    };
  };
  m_pauseAction = make(tr("&Pause"), QStringLiteral("pause"), Qt::CTRL | Qt::Key_P, QStringLiteral("pauseAction"),
                       steer(&RunSession::pause));
  m_continueAction = make(tr("&Continue"), QStringLiteral("play"), Qt::CTRL | Qt::SHIFT | Qt::Key_P,
                          QStringLiteral("continueAction"), steer(&RunSession::resumeTraining));
  m_checkpointAction = make(tr("Chec&kpoint now"), QStringLiteral("save"), Qt::CTRL | Qt::Key_K,
                            QStringLiteral("checkpointAction"), steer(&RunSession::checkpointNow));
  m_exportAction = make(tr("E&xport the model…"), QStringLiteral("export"), Qt::CTRL | Qt::Key_E,
                        QStringLiteral("exportAction"), [this] { m_train->openExport(); });
  m_stopAction = make(tr("S&top and save"), QStringLiteral("stop"), Qt::CTRL | Qt::Key_Period,
                      QStringLiteral("stopAction"), steer(&RunSession::stopAndSave));
}

void MainWindow::makeMenus() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addActions({m_newAction, m_openProjectAction, m_saveAction, m_saveAsAction});
  file->addSeparator();
  file->addActions({m_openRunAction, m_openRemoteAction});
  file->addSeparator();
  file->addAction(m_quitAction);
  QMenu* run = menuBar()->addMenu(tr("&Run"));
  run->addActions({m_startAction, m_startDetachedAction, m_queueAction});
  run->addSeparator();
  run->addActions({m_pauseAction, m_continueAction, m_checkpointAction, m_stopAction});
  run->addSeparator();
  run->addAction(m_exportAction);
  QMenu* view = menuBar()->addMenu(tr("&View"));
  view->addActions(m_pageActions->actions());
  view->addSeparator();
  auto* themes = new QActionGroup(this);
  const std::pair<ThemeChoice, QString> choices[] = {{ThemeChoice::System, tr("As the &desktop")},
                                                     {ThemeChoice::Light, tr("&Light")},
                                                     {ThemeChoice::Dark, tr("Dar&k")}};
  for (const auto& [choice, text] : choices) {
    QAction* action = themes->addAction(text);
    action->setCheckable(true);
    action->setChecked(choice == m_theme.choice());
    connect(action, &QAction::triggered, this, [this, choice = choice] {
      m_theme.choose(choice);
      m_settings.setValue(themeKey, static_cast<int>(choice));
    });
    view->addAction(action);
  }
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&About Millrace"), this, [this] {
    QMessageBox::about(this, tr("About Millrace"),
                       tr("<b>Millrace %1</b><p>Trains language models larger than the memory of the device that "
                          "computes, at full precision, on one machine.</p><p>GPL 3.0 or later.</p>")
                           .arg(QApplication::applicationVersion()));
  });
  help->addAction(tr("About &Qt"), qApp, &QApplication::aboutQt);
}

void MainWindow::updateActions() {
  const RunSession* session = m_runs->session();
  const bool steerable =
      session && session->isLive() && session->feed().link() == FeedLink::Connected && !session->isStopping();
  const bool paused = steerable && session->state() == RunState::Paused;
  m_startAction->setEnabled(!m_runs->isStarting());
  m_startDetachedAction->setEnabled(!m_runs->isStarting());
  m_pauseAction->setEnabled(steerable && !paused);
  m_continueAction->setEnabled(paused);
  m_checkpointAction->setEnabled(steerable);
  m_stopAction->setEnabled(steerable);
  m_queueAction->setEnabled(m_queue->isReady());
  m_exportAction->setEnabled(session && session->feed().isLocal() && session->feed().hasFolder() &&
                             session->stepOfCheckpoint() >= 0);
}

} // namespace millrace::ui
