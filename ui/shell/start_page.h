// StartPage: where a session begins: what was open before, runs that stand still before their end, templates, and
// whether a model could be trained on a machine at all.
#pragma once

#include "shell/places.h"

#include <QWidget>

class QGridLayout;
class QListWidget;
class QVBoxLayout;

namespace millrace::ui {

class CanITrain;

class StartPage final : public QWidget {
  Q_OBJECT

 public:
  explicit StartPage(QWidget* parent = nullptr);

  void setRecentProjects(const std::vector<NamedPlace>& projects);
  void setRecentRuns(const QStringList& places);
  void setInterrupted(const std::vector<InterruptedRun>& runs);

 Q_SIGNALS:
  void openProjectRequested(const QString& path); ///< empty: let the user choose
  void openRunRequested(const QString& place);    ///< empty: let the user choose
  void openRemoteRequested();
  void templateRequested(const QString& resource);
  void resumeRequested(const QString& directory);
  /// A project's text, made from the model that was asked about.
  void projectRequested(const QString& text);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void arrange(int columns);
  QWidget* makeBeginnings();
  QListWidget* makeList(const QString& name, const QString& accessibleName);

  QListWidget* m_projects;
  QListWidget* m_runs;
  QWidget* m_interruptedBox;
  QVBoxLayout* m_interrupted;
  std::vector<InterruptedRun> m_interruptedRuns;
  QGridLayout* m_grid;
  QWidget *m_beginnings, *m_question, *m_projectBox, *m_runBox;
  int m_columns = 0;
};

} // namespace millrace::ui
