// RunsPage: every run there ever was, as a table; below it the one or those that are selected: details, charts beside
// each other and beside the baseline, settings that differ; and the queue. Shows and asks: starting, opening and
// exporting runs is the shell's. GUI thread.
#pragma once

#include "engine/run.h"
#include "runs/run_entry.h"

#include <QTimer>
#include <QWidget>

class QLabel;
class QSplitter;
class QStackedLayout;
class QTabWidget;
class QTreeView;

namespace millrace::ui {

class ComparisonWarnings;
class OverlayCharts;
class QueuePanel;
class RunDetailsPanel;
class RunFilter;
class RunFilterBar;
class RunHistory;
class RunQueue;
class RunTableModel;
class SettingsPanel;

class RunsPage final : public QWidget {
  Q_OBJECT

 public:
  /// history, queue: outlive the page. cacheFolder: of the charts' points.
  RunsPage(RunHistory& history, RunQueue& queue, const QString& cacheFolder, QWidget* parent = nullptr);
  ~RunsPage() override;

  /// Selects these alone, as far as the table shows them.
  void select(const QStringList& runs);
  void showQueue();
  void showProblem(const QString& message);

  QByteArray saveLayout() const;
  void restoreLayout(const QByteArray& state);

 Q_SIGNALS:
  void openRequested(const QString& run);
  void resumeRequested(const QString& run);
  void queueRequested(const QString& run);
  void queueProjectRequested();
  void branchRequested(const millrace::BranchPoint& branch);
  void exportRequested(const QString& run);
  void openRunRequested();
  void configureRequested();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  enum Tab { DetailsTab, ChartsTab, SettingsTab, QueueTab };

  QWidget* makeEmptyPage();
  QWidget* makePage(const QString& cacheFolder);
  QWidget* makeTabs(const QString& cacheFolder);
  void connectDetails();
  void historyChanged();
  void selectionChanged();
  void choosePage();
  void showCounts();
  void compare();
  void drawCharts();
  void askBranch(const QString& run);
  void askDelete(const QString& run);
  QStringList selected() const;
  QStringList compared() const;

  RunHistory& m_history;
  RunQueue& m_queue;
  RunTableModel* m_model;
  RunFilter* m_filter;
  RunFilterBar* m_filterBar;
  QStackedLayout* m_stack;
  QTreeView* m_table;
  QLabel* m_notice;
  ComparisonWarnings* m_warnings;
  QSplitter* m_splitter;
  QTabWidget* m_tabs;
  QStackedLayout* m_detailsStack;
  RunDetailsPanel* m_details;
  QLabel* m_noDetails;
  OverlayCharts* m_charts;
  SettingsPanel* m_settings;
  QStringList m_shown; ///< what charts and settings are of
  QTimer m_settle;     ///< so that whoever goes through the table by keys has not every run read
  QTimer m_look;       ///< while it is in sight: runs of other programs come and go
};

} // namespace millrace::ui
