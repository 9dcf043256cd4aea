// TrainPage: the run that is looked at: how it stands, its charts, samples and log. Shows what a RunSession has;
// starting and opening runs is the shell's.
#pragma once

#include "bridge/run_feed.h"

#include <QPointer>
#include <QWidget>
#include <memory>
#include <optional>
#include <utility>

class QLabel;
class QSplitter;
class QStackedLayout;
class QTabWidget;

namespace millrace::ui {

class AlertBar;
class ChartsPanel;
class LogPanel;
class RunHeader;
class RunSession;
class SamplesPanel;

class TrainPage final : public QWidget {
  Q_OBJECT

 public:
  explicit TrainPage(QWidget* parent = nullptr);
  ~TrainPage() override;

  /// May be null: then the page says how to come to a run. Must outlive its being shown.
  void show(RunSession* session);
  RunSession* session() const { return m_session; }
  ChartsPanel& charts() { return *m_charts; }
  /// Asks what to write of the run that is shown, for other programs.
  void openExport();
  /// Where keys do no harm.
  void focusCharts();

  QByteArray saveLayout() const;
  void restoreLayout(const QByteArray& state);

 Q_SIGNALS:
  void configureRequested();
  void openRunRequested();
  void resumeRunRequested();
  void resumeDetachedRequested();
  void openFolderRequested();

 private:
  QWidget* makeEmptyPage();
  QWidget* makeRunPage();
  void showProblem(const QString& message);
  void stateChanged();
  std::pair<RunState, FeedLink> stateShown() const;

  QPointer<RunSession> m_session;
  QStackedLayout* m_stack;
  RunHeader* m_header;
  AlertBar* m_alerts;
  QLabel* m_problem;
  std::optional<std::pair<RunState, FeedLink>> m_problemState; ///< that the run was in as a request failed
  ChartsPanel* m_charts;
  SamplesPanel* m_samples;
  LogPanel* m_log;
  QTabWidget* m_tabs;
  QSplitter* m_splitter;
};

} // namespace millrace::ui
