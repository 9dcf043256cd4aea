// QueueRunner: begins the runs of a queue one after the other in this window, and tells the queue how they went. GUI
// thread; owned by the main window.
#pragma once

#include "runs/run_queue.h"

#include <QObject>
#include <QPointer>

namespace millrace::ui {

class RunControl;
class RunSession;

class QueueRunner final : public QObject {
  Q_OBJECT

 public:
  /// Both outlive it.
  QueueRunner(RunQueue& queue, RunControl& control, QObject* parent = nullptr);

  /// Something of the queue is being started: what fails now is told by the queue, and no page needs to change.
  bool isStarting() const { return m_starting != 0; }
  /// The window is about to close: nothing more is begun, and what runs stays in the queue, to be gone on with by the
  /// next one. False: it stays after all.
  void setClosing(bool closing);

 private:
  void considerSoon();
  void consider();
  void takeSession(RunSession* session);
  void sessionChanged();

  RunQueue& m_queue;
  RunControl& m_control;
  QPointer<RunSession> m_session;
  qint64 m_starting = 0; ///< of the queue; 0: none
  bool m_closing = false;
};

} // namespace millrace::ui
