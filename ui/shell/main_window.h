// MainWindow: the workbench's window: pages, menus, what is open, and what happens when it is closed. Pages show and
// ask; RunControl and ProjectDocument do.
#pragma once

#include "shell/recent_places.h"
#include "shell/run_control.h"

#include <QMainWindow>
#include <QPointer>

class QActionGroup;
class QSettings;
class QStackedWidget;

namespace millrace::ui {

class ConfigurePage;
class HardwarePage;
class PlaygroundPage;
class ProjectDocument;
class QueueRunner;
class RunHistory;
class RunQueue;
class RunsPage;
struct ProjectHolder;
class RunNotifier;
class StartPage;
class Theme;
class TrainPage;

class MainWindow final : public QMainWindow {
  Q_OBJECT

 public:
  enum class Page { Start, Configure, Train, Runs, Hardware, Playground };

  /// All must outlive the window. cacheFolder: of the charts' points.
  MainWindow(Theme& theme, QSettings& settings, const QString& cacheFolder, QWidget* parent = nullptr);
  ~MainWindow() override;

  void showPage(Page page);
  Page page() const;
  /// A project file, a model folder, the folder of a run, or an ssh:// address.
  /// settings: "key=value" each, changes to a project that is opened.
  void open(const QString& place, const QStringList& settings = {});
  /// Saves and stops what trains here, then closes without asking: for signals.
  void stopAndClose();

  ProjectDocument& document() { return *m_document; }
  RunControl& runs() { return *m_runs; }
  RunHistory& history() { return *m_history; }
  RunQueue& queue() { return *m_queue; }

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void makeActions();
  void makeMenus();
  void connectPages();
  void connectRunsPage();
  QAction* addPage(QWidget* page, const QString& text, const QString& iconName);

  void newProject(const QString& text);
  void openProject(const QString& path);
  void chooseProject();
  void chooseRun();
  void askRemote();
  void openRun(const QString& place);
  void applySettings();
  void startRun(bool detached);
  /// Opens the project of a run, which is to begin from one of its checkpoints.
  void branch(const BranchPoint& from);
  void setBranch(const std::optional<BranchPoint>& from);
  void addToQueue();
  void chooseForQueue();
  void queueResume(const QString& run);
  void lookForInterrupted();
  void nameRecentProjects();
  /// Tells a page that is about to be shown what is near at hand.
  void preparePage(Page page);
  void showSession(RunSession* session);
  void updateActions();
  void updateTitle();
  void tell(const QString& title, const QString& message);

  /// Calls `then` once unsaved changes are saved or given up; not at all when the user turns back.
  void withSavedProject(std::function<void()> then);
  /// Another program has the project open.
  void askAboutOpenProject(const QString& path, const ProjectHolder& holder);
  void askAboutRun();
  void closeWhenEnded();
  void saveProject(std::function<void()> then = {});

  Theme& m_theme;
  QSettings& m_settings;
  ProjectDocument* m_document;
  RunControl* m_runs;
  RunNotifier* m_notifier;
  RecentPlaces m_recentProjects;
  RecentPlaces m_recentRuns;
  QStackedWidget* m_pages;
  StartPage* m_start;
  ConfigurePage* m_configure;
  TrainPage* m_train;
  RunHistory* m_history;
  RunQueue* m_queue;
  RunsPage* m_runsPage;
  QueueRunner* m_queueRunner = nullptr;
  std::optional<BranchPoint> m_branch; ///< what the project that is open begins from, if anything
  HardwarePage* m_hardware;
  PlaygroundPage* m_playground;
  QActionGroup* m_pageActions;
  QPointer<QWidget> m_question;  ///< that is open now
  QPointer<QObject> m_afterSave; ///< waits for a save to go on with something
  QStringList m_settingsToApply; ///< to the project that is being opened
  quint64 m_looks = 0;           ///< for interrupted runs; the newest one is told
  bool m_mayClose = false;       ///< everything has been asked
  bool m_mayForget = false;      ///< the project's changes were asked about, and there are no new ones

  QAction* m_newAction;
  QAction* m_openProjectAction;
  QAction* m_saveAction;
  QAction* m_saveAsAction;
  QAction* m_openRunAction;
  QAction* m_openRemoteAction;
  QAction* m_quitAction;
  QAction* m_startAction;
  QAction* m_startDetachedAction;
  QAction* m_queueAction;
  QAction* m_pauseAction;
  QAction* m_continueAction;
  QAction* m_checkpointAction;
  QAction* m_stopAction;
  QAction* m_exportAction;
};

} // namespace millrace::ui
