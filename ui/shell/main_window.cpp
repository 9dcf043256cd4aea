#include "shell/main_window.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "configure/configure_page.h"
#include "configure/project_document.h"
#include "configure/project_paths.h"
#include "engine/runs.h"
#include "hardware/hardware_page.h"
#include "playground/playground_page.h"
#include "runs/run_history.h"
#include "runs/run_queue.h"
#include "runs/runs_page.h"
#include "shell/places.h"
#include "shell/queue_runner.h"
#include "shell/run_notifier.h"
#include "shell/start_page.h"
#include "style/icons.h"
#include "train/run_session.h"
#include "train/train_page.h"

#include <QAction>
#include <QActionGroup>
#include <QCloseEvent>
#include <QDesktopServices>
#include <QDir>
#include <QDragEnterEvent>
#include <QFile>
#include <QFileDialog>
#include <QFileInfo>
#include <QInputDialog>
#include <QMessageBox>
#include <QMimeData>
#include <QScreen>
#include <QSettings>
#include <QStackedWidget>
#include <QToolBar>
#include <QUrl>
#include <utility>

namespace millrace::ui {

namespace {

const QString geometryKey = QStringLiteral("window/geometry");
const QString stateKey = QStringLiteral("window/state");
const QString trainLayoutKey = QStringLiteral("window/train");
const QString runsLayoutKey = QStringLiteral("window/runs");
constexpr int stateVersion = 1;

} // namespace

MainWindow::MainWindow(Theme& theme, QSettings& settings, const QString& cacheFolder, QWidget* parent)
    : QMainWindow(parent),
      m_theme(theme),
      m_settings(settings),
      m_document(new ProjectDocument(this)),
      m_runs(new RunControl(cacheFolder, this)),
      m_notifier(new RunNotifier(*this, QDBusConnection::sessionBus(), this)),
      m_recentProjects(settings, QStringLiteral("recent/projects")),
      m_recentRuns(settings, QStringLiteral("recent/runs")),
      m_pages(new QStackedWidget),
      m_start(new StartPage),
      m_configure(new ConfigurePage(*m_document)),
      m_train(new TrainPage),
      m_history(new RunHistory(settings, this)),
      m_queue(new RunQueue(queueFile(), this)),
      m_runsPage(new RunsPage(*m_history, *m_queue, cacheFolder)),
      m_hardware(new HardwarePage),
      m_playground(new PlaygroundPage),
      m_pageActions(new QActionGroup(this)) {
  setWindowIcon(QIcon(QStringLiteral(":/icons/millrace.svg")));
  setCentralWidget(m_pages);
  setAcceptDrops(true);
  auto* bar = new QToolBar(tr("Pages"));
  bar->setObjectName(QStringLiteral("pageBar"));
  bar->setMovable(false);
  bar->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
  bar->setContextMenuPolicy(Qt::PreventContextMenu);
  addToolBar(Qt::LeftToolBarArea, bar);
  bar->addAction(addPage(m_start, tr("&Start"), QStringLiteral("home")));
  bar->addAction(addPage(m_configure, tr("&Configure"), QStringLiteral("configure")));
  bar->addAction(addPage(m_train, tr("&Train"), QStringLiteral("chart")));
  bar->addAction(addPage(m_runsPage, tr("&Runs"), QStringLiteral("runs")));
  bar->addAction(addPage(m_hardware, tr("&Hardware"), QStringLiteral("hardware")));
  bar->addAction(addPage(m_playground, tr("&Playground"), QStringLiteral("playground")));
  for (QAction* action : m_pageActions->actions()) bar->widgetForAction(action)->setFocusPolicy(Qt::TabFocus);
  makeActions();
  makeMenus();
  connectPages();
  connectRunsPage();

  const QSize room = screen()->availableSize() - QSize(0, 2 * fontMetrics().height()); // for its title bar
  resize(QSize(1280, 860).boundedTo(room));
  restoreGeometry(settings.value(geometryKey).toByteArray());
  restoreState(settings.value(stateKey).toByteArray(), stateVersion);
  m_train->restoreLayout(settings.value(trainLayoutKey).toByteArray());
  m_runsPage->restoreLayout(settings.value(runsLayoutKey).toByteArray());
  nameRecentProjects();
  m_start->setRecentRuns(m_recentRuns.places());
  showPage(Page::Start);
  lookForInterrupted();
  updateActions();
  updateTitle();
}

MainWindow::~MainWindow() {
  m_train->show(nullptr); // before the session goes
}

QAction* MainWindow::addPage(QWidget* page, const QString& text, const QString& iconName) {
  const int index = m_pages->addWidget(page);
  auto* action = new QAction(icon(iconName), text, m_pageActions);
  action->setCheckable(true);
  action->setShortcut(QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + index)));
  action->setToolTip(
      tr("%1 (%2)").arg(QString(text).remove(u'&'), action->shortcut().toString(QKeySequence::NativeText)));
  connect(action, &QAction::triggered, this, [this, index] { showPage(static_cast<Page>(index)); });
  return action;
}

void MainWindow::showPage(Page page) {
  const int index = static_cast<int>(page);
  preparePage(page);
  m_pages->setCurrentIndex(index);
  m_pageActions->actions().at(index)->setChecked(true);
}

MainWindow::Page MainWindow::page() const {
  return static_cast<Page>(m_pages->currentIndex());
}

void MainWindow::connectPages() {
  connect(m_start, &StartPage::openProjectRequested, this, [this](const QString& path) {
    if (path.isEmpty())
      chooseProject();
    else
      openProject(path);
  });
  connect(m_start, &StartPage::openRunRequested, this, [this](const QString& place) {
    if (place.isEmpty())
      chooseRun();
    else
      openRun(place);
  });
  connect(m_start, &StartPage::openRemoteRequested, this, &MainWindow::askRemote);
  connect(m_start, &StartPage::projectRequested, this, &MainWindow::newProject);
  connect(m_start, &StartPage::templateRequested, this, [this](const QString& resource) {
    QFile file(resource);
    if (file.open(QIODevice::ReadOnly)) newProject(QString::fromUtf8(file.readAll()));
  });
  connect(m_start, &StartPage::resumeRequested, this,
          [this](const QString& directory) { m_runs->resumeHere(directory); });
  connect(&m_recentProjects, &RecentPlaces::changed, this, &MainWindow::nameRecentProjects);
  connect(m_pages, &QStackedWidget::currentChanged, this, [this] {
    if (page() == Page::Start) lookForInterrupted();
  });
  connect(&m_recentRuns, &RecentPlaces::changed, this, [this] { m_start->setRecentRuns(m_recentRuns.places()); });

  connect(m_document, &ProjectDocument::changed, this, [this] { m_mayForget = false; });
  connect(m_document, &ProjectDocument::titleChanged, this, &MainWindow::updateTitle);
  connect(m_document, &ProjectDocument::dirtyChanged, this, &MainWindow::updateTitle);
  connect(m_document, &ProjectDocument::loaded, this, [this] {
    applySettings();
    m_recentProjects.add(m_document->filePath());
    showPage(Page::Configure);
  });
  connect(m_document, &ProjectDocument::saved, this, [this] { m_recentProjects.add(m_document->filePath()); });
  connect(m_document, &ProjectDocument::saveFailed, this, [this] { showPage(Page::Configure); }); // which says why
  connect(m_document, &ProjectDocument::loadFailed, this, [this](const QString& message) {
    m_settingsToApply.clear();
    tell(tr("The project cannot be opened"), message);
  });
  connect(m_document, &ProjectDocument::openElsewhere, this, &MainWindow::askAboutOpenProject);
  connect(m_configure, &ConfigurePage::startRequested, this, [this] { startRun(false); });
  connect(m_hardware, &HardwarePage::measured, m_configure, &ConfigurePage::planAgain);

  connect(m_runs, &RunControl::sessionChanged, this, &MainWindow::showSession);
  connect(m_runs, &RunControl::startingChanged, this, &MainWindow::updateActions);
  connect(m_runs, &RunControl::failed, this, [this](const QString& title, const QString& message) {
    if (!m_queueRunner->isStarting()) tell(title, message); // what the queue begins it tells of itself
  });
  connect(m_runs, &RunControl::handedOver, this, [this] {
    m_mayClose = true;
    close();
  });
  const auto directory = [this] { return m_runs->session() ? m_runs->session()->feed().place() : QString(); };
  connect(m_train, &TrainPage::configureRequested, this, [this] { showPage(Page::Configure); });
  connect(m_train, &TrainPage::openRunRequested, this, &MainWindow::chooseRun);
  connect(m_train, &TrainPage::resumeRunRequested, this, [this, directory] { m_runs->resumeHere(directory()); });
  connect(m_train, &TrainPage::resumeDetachedRequested, this,
          [this, directory] { m_runs->resumeDetached(directory()); });
  connect(m_train, &TrainPage::openFolderRequested, this,
          [directory] { QDesktopServices::openUrl(QUrl::fromLocalFile(directory())); });
}

void MainWindow::showSession(RunSession* session) {
  m_train->show(session);
  m_notifier->watch(session);
  m_recentRuns.add(session->feed().place());
  m_history->remember(session->feed().place());
  connect(session, &RunSession::stateChanged, this, &MainWindow::updateActions);
  connect(&session->feed(), &RunFeed::linkChanged, this, [this, session] {
    const FeedLink link = session->feed().link();
    if (link != FeedLink::Ended && link != FeedLink::Connected) return;
    lookForInterrupted();
    m_history->refresh();
  });
  if (!m_queueRunner->isStarting()) { // whoever is at something else is left to it
    showPage(Page::Train);
    m_train->focusCharts(); // not whichever button comes first
  }
  updateActions();
}

void MainWindow::updateTitle() {
  setWindowTitle(
      (m_document->isReadOnly() ? tr("%1[*] (read-only) – Millrace") : tr("%1[*] – Millrace")).arg(m_document->name()));
  setWindowModified(m_document->isDirty());
}

void MainWindow::tell(const QString& title, const QString& message) {
  auto* box = new QMessageBox(QMessageBox::Warning, title, title, QMessageBox::Ok, this);
  box->setObjectName(QStringLiteral("problem"));
  box->setInformativeText(message);
  box->setTextFormat(Qt::PlainText);
  box->setAttribute(Qt::WA_DeleteOnClose);
  box->open();
}

void MainWindow::newProject(const QString& text) {
  withSavedProject([this, text] {
    m_document->startNew(text.toStdString());
    showPage(Page::Configure);
  });
}

void MainWindow::openProject(const QString& path) {
  withSavedProject([this, path] { m_document->load(path); });
}

void MainWindow::chooseProject() {
  auto* dialog = new QFileDialog(this, tr("Open a project"), QFileInfo(m_document->filePath()).path(),
                                 tr("Projects (*.json);;All files (*)"));
  dialog->setFileMode(QFileDialog::ExistingFile);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::openProject);
  dialog->open();
}

void MainWindow::chooseRun() {
  const auto folder = runsFolder();
  auto* dialog = new QFileDialog(this, tr("Open the folder of a run"), folder ? toQt(*folder) : QDir::homePath());
  dialog->setFileMode(QFileDialog::Directory);
  dialog->setOption(QFileDialog::ShowDirsOnly);
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QFileDialog::fileSelected, this, &MainWindow::openRun);
  dialog->open();
}

void MainWindow::askRemote() {
  auto* dialog = new QInputDialog(this);
  dialog->setObjectName(QStringLiteral("remoteDialog"));
  dialog->setWindowTitle(tr("Follow a run on another machine"));
  dialog->setLabelText(tr("Address of the run's folder. The connection is made by your own ssh; millrace must be "
                          "installed there."));
  dialog->setTextValue(QStringLiteral("ssh://host/path/to/run"));
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &QInputDialog::textValueSelected, this, &MainWindow::openRun);
  dialog->open();
}

void MainWindow::openRun(const QString& place) {
  m_runs->openRun(place.startsWith(QLatin1String("ssh://")) ? place : QFileInfo(place).absoluteFilePath());
}

void MainWindow::open(const QString& place, const QStringList& settings) {
  if (place.startsWith(QLatin1String("ssh://"))) return openRun(place);
  const QString path = QDir::current().absoluteFilePath(place);
  inBackground(
      this, [path] { return kindOf(path); },
      [this, path, settings](PlaceKind kind) {
        switch (kind) {
        case PlaceKind::File:
          withSavedProject([this, path, settings] {
            m_settingsToApply = settings;
            m_document->load(path);
          });
          return;
        case PlaceKind::Run:
          return openRun(path);
        case PlaceKind::Model:
          withSavedProject([this, path] {
            m_document->startNew({});
            m_document->setValue("model.folder", path.toStdString());
            showPage(Page::Configure);
          });
          return;
        case PlaceKind::Other:
          tell(tr("This folder cannot be opened"),
               tr("%1 holds neither a run (run.json) nor a model (config.json).").arg(path));
        }
      });
}

void MainWindow::applySettings() {
  std::vector<ProjectChange> changes;
  for (const QString& setting : std::exchange(m_settingsToApply, {}))
    changes.push_back({setting.section(u'=', 0, 0).toStdString(), setting.section(u'=', 1).toStdString()});
  m_document->apply(changes);
}

void MainWindow::startRun(bool detached) {
  m_document->lookAtFile([this, detached] {
    if (m_document->isChangedOnDisk()) { // which of the two is meant is asked first
      showPage(Page::Configure);
      return m_configure->revealChange();
    }
    const auto start = detached ? &RunControl::startDetached : &RunControl::start;
    (m_runs->*start)(m_document->text(), m_document->folder(), m_document->sourceName(), m_branch);
  });
}

void MainWindow::lookForInterrupted() {
  inBackground(this, &interruptedRuns, [this, look = ++m_looks](const std::vector<InterruptedRun>& runs) {
    if (look == m_looks) m_start->setInterrupted(runs);
  });
}

void MainWindow::nameRecentProjects() {
  const QStringList paths = m_recentProjects.places();
  inBackground(
      this, [paths] { return namedProjects(paths); },
      [this, paths](const std::vector<NamedPlace>& projects) {
        if (paths == m_recentProjects.places()) m_start->setRecentProjects(projects);
      });
}

void MainWindow::preparePage(Page page) {
  if (page == Page::Hardware) {
    std::vector<std::filesystem::path> directories;
    if (const Json* named = m_document->value("memory.nvme.directories"); named && named->is_array())
      for (const Json& each : *named)
        if (each.is_string())
          directories.push_back(toPath(meantPath(toQt(each.get<std::string>()), m_document->folder())));
    m_hardware->setDirectories(std::move(directories));
  } else if (page == Page::Playground) {
    QStringList places;
    const RunSession* session = m_runs->session();
    if (session && session->feed().isLocal() && session->feed().hasFolder()) places << session->feed().place();
    if (const Json* folder = m_document->value("model.folder"); folder && folder->is_string())
      places << meantPath(toQt(folder->get<std::string>()), m_document->folder());
    for (const QString& place : m_recentRuns.places())
      if (!place.startsWith(QLatin1String("ssh://"))) places << place;
    places.removeDuplicates();
    m_playground->setPlaces(places);
  }
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  const QList<QUrl> urls = event->mimeData()->urls();
  if (urls.size() == 1 && urls.front().isLocalFile()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  event->acceptProposedAction();
  open(event->mimeData()->urls().front().toLocalFile());
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!m_mayClose && m_document->isDirty() && !m_mayForget) {
    event->ignore();
    withSavedProject([this] {
      m_mayForget = true;
      close();
    });
    return;
  }
  if (!m_mayClose && m_runs->hasRunHere()) {
    event->ignore();
    askAboutRun();
    return;
  }
  m_settings.setValue(geometryKey, saveGeometry());
  m_settings.setValue(stateKey, saveState(stateVersion));
  m_settings.setValue(trainLayoutKey, m_train->saveLayout());
  m_settings.setValue(runsLayoutKey, m_runsPage->saveLayout());
  event->accept();
}

} // namespace millrace::ui
