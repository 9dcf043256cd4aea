// QueuePanel: the queue as a list that can be put in order, with what starts and stops it. GUI thread.
#pragma once

#include <QWidget>

class QCheckBox;
class QLabel;
class QPushButton;
class QTreeView;

namespace millrace::ui {

class QueueModel;
class RunQueue;

class QueuePanel final : public QWidget {
  Q_OBJECT

 public:
  /// queue: outlives it.
  explicit QueuePanel(RunQueue& queue, QWidget* parent = nullptr);

 Q_SIGNALS:
  /// Of a project file that is asked for.
  void addRequested();

 private:
  void update();
  qint64 current() const; ///< 0: none
  void select(qint64 id);

  RunQueue& m_queue;
  QueueModel* m_model;
  QTreeView* m_view;
  QLabel* m_text;
  QPushButton* m_onOff;
  QPushButton* m_add;
  QPushButton* m_up;
  QPushButton* m_down;
  QPushButton* m_retry;
  QPushButton* m_remove;
  QCheckBox* m_stops;
  qint64 m_selected = 0;
};

} // namespace millrace::ui
