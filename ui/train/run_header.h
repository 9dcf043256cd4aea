// RunHeader: a run's name and place, how it stands, how far it is, and the buttons that steer it.
#pragma once

#include <QPointer>
#include <QTimer>
#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace millrace::ui {

class ElidedLabel;
class RunSession;

class RunHeader final : public QWidget {
  Q_OBJECT

 public:
  explicit RunHeader(QWidget* parent = nullptr);

  /// May be null. Must outlive its being shown here.
  void show(RunSession* session);

 Q_SIGNALS:
  void resumeRunRequested(); ///< an ended run is to go on, in this window
  void resumeDetachedRequested();
  void openFolderRequested();
  /// The button that had the focus is gone; no other should be pressed by whoever types on.
  void focusLost();

 private:
  QPushButton* addButton(const QString& text, const QString& iconName, const QString& toolTip, const QString& name);
  void showState();
  void showButtons();
  void showFigures();
  void askDiscard();

  QPointer<RunSession> m_session;
  QLabel* m_icon;
  ElidedLabel* m_name;
  ElidedLabel* m_state;
  QLabel* m_reason;
  ElidedLabel* m_figures;
  QProgressBar* m_progress;
  QPushButton* m_pause;
  QPushButton* m_continue;
  QPushButton* m_checkpoint;
  QPushButton* m_stop;
  QPushButton* m_discard;
  QPushButton* m_resumeRun;
  QPushButton* m_resumeDetached;
  QPushButton* m_reconnect;
  QPushButton* m_folder;
  QTimer m_tick; ///< silence makes itself known by nothing
};

} // namespace millrace::ui
