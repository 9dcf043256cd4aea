#include "shell/queue_runner.h"

#include "shell/run_control.h"
#include "train/run_session.h"

namespace millrace::ui {

QueueRunner::QueueRunner(RunQueue& queue, RunControl& control, QObject* parent)
    : QObject(parent), m_queue(queue), m_control(control) {
  connect(&queue, &RunQueue::changed, this, &QueueRunner::considerSoon);
  connect(&control, &RunControl::sessionChanged, this, &QueueRunner::takeSession);
  connect(&control, &RunControl::startingChanged, this, &QueueRunner::considerSoon);
  connect(&control, &RunControl::failed, this, [this](const QString&, const QString& message) {
    if (const qint64 id = std::exchange(m_starting, 0)) m_queue.setFailed(id, message);
    setClosing(false); // a run that was to be handed over was not
  });
  connect(&control, &RunControl::handedOver, this, [this] {
    // Another program goes on with it: nothing is left of it to be begun here.
    if (const QueuedRun* run = m_queue.running()) m_queue.setDone(run->id);
  });
}

void QueueRunner::setClosing(bool closing) {
  if (closing == m_closing) return;
  m_closing = closing;
  if (!closing && m_session) sessionChanged();
}

/// Never in the middle of what the run that ends has to tell others.
void QueueRunner::considerSoon() {
  QMetaObject::invokeMethod(this, &QueueRunner::consider, Qt::QueuedConnection);
}

void QueueRunner::consider() {
  if (m_closing || !m_queue.isOn() || m_starting || m_queue.running() || m_control.isStarting()) return;
  // A run of another program that this window follows is waited for as well; one on another machine is not.
  const RunSession* session = m_control.session();
  if (session && session->feed().isLocal() && session->feed().link() != FeedLink::Ended) return;
  const QueuedRun* next = m_queue.next();
  if (!next) return;
  m_starting = next->id;
  if (next->kind == QueuedRun::Kind::Resume)
    m_control.resumeHere(QString(next->run));
  else
    m_control.start(next->project.toStdString(), QString(next->folder), QString(next->source),
                    std::optional<BranchPoint>(next->branch));
}

void QueueRunner::takeSession(RunSession* session) {
  if (m_session) m_session->disconnect(this);
  m_session = session;
  connect(session, &RunSession::stateChanged, this, &QueueRunner::sessionChanged);
  if (const qint64 id = std::exchange(m_starting, 0)) m_queue.setRunning(id, session->feed().place());
}

void QueueRunner::sessionChanged() {
  if (m_session->feed().link() != FeedLink::Ended) return;
  considerSoon();
  const QueuedRun* run = m_queue.running();
  if (!run || run->run != m_session->feed().place() || m_closing) return;
  const QString why = m_session->stateReason().isEmpty() ? m_session->feed().linkReason() : m_session->stateReason();
  if (m_session->state() == RunState::Finished || m_session->state() == RunState::Interrupted)
    m_queue.setDone(run->id); // who stops a run has done with it here; it can be resumed
  else
    m_queue.setFailed(run->id, why);
}

} // namespace millrace::ui
