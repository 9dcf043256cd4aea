#include "shell/run_notifier.h"

#include "bridge/text.h"
#include "style/numbers.h"
#include "train/run_session.h"

#include <QDBusMessage>
#include <QDateTime>
#include <QVariantMap>
#include <QWidget>
#include <utility>

namespace millrace::ui {

namespace {

/// An end that is longer ago is history that is being read.
constexpr double recentSeconds = 300;

bool isRecent(const RunEvent& event) {
  return static_cast<double>(QDateTime::currentSecsSinceEpoch()) - event.time < recentSeconds;
}

QString stepText(const RunSession& session) {
  const auto& last = session.last();
  if (!last) return {};
  const QString text = RunNotifier::tr("Step %1, loss %2").arg(countText(last->step), numberText(last->loss));
  if (!session.evaluation()) return text;
  return RunNotifier::tr("%1, validation %2").arg(text, numberText(session.evaluation()->loss));
}

} // namespace

RunNotifier::RunNotifier(const QWidget& window, QDBusConnection bus, QObject* parent)
    : QObject(parent), m_window(window), m_bus(std::move(bus)) {}

void RunNotifier::watch(RunSession* session) {
  if (m_session) m_session->feed().disconnect(this);
  m_session = session;
  m_wasLive = false;
  if (!session) return;
  connect(&session->feed(), &RunFeed::eventsArrived, this, &RunNotifier::take);
  connect(&session->feed(), &RunFeed::linkChanged, this, &RunNotifier::linkChanged);
  linkChanged();
}

void RunNotifier::take(const std::vector<RunEvent>& events) {
  if (!m_session || !m_wasLive) return;
  for (const RunEvent& event : events) {
    const auto* change = std::get_if<StateChanged>(&event.body);
    if (!change || !isFinal(change->state)) continue;
    m_wasLive = false; // the link's end is no further news
    if (!isRecent(event)) continue;
    if (change->state == RunState::Finished)
      tell(tr("%1 has finished").arg(m_session->name()), stepText(*m_session), false);
    if (change->state == RunState::Failed) tell(tr("%1 has failed").arg(m_session->name()), toQt(change->reason), true);
  }
}

void RunNotifier::linkChanged() {
  const FeedLink link = m_session->feed().link();
  if (link == FeedLink::Connected) m_wasLive = true;
  if (link != FeedLink::Ended || !std::exchange(m_wasLive, false)) return;
  tell(tr("%1 has ended before its end").arg(m_session->name()), m_session->feed().linkReason(), true);
}

void RunNotifier::tell(const QString& title, const QString& text, bool bad) {
  if (m_window.isActiveWindow() || !m_bus.isConnected()) return;
  constexpr uchar normal = 1, critical = 2;
  constexpr int asTheDesktopLikes = -1;
  QDBusMessage call = QDBusMessage::createMethodCall(
      QStringLiteral("org.freedesktop.Notifications"), QStringLiteral("/org/freedesktop/Notifications"),
      QStringLiteral("org.freedesktop.Notifications"), QStringLiteral("Notify"));
  const QVariantMap hints = {{QStringLiteral("urgency"), QVariant::fromValue(bad ? critical : normal)},
                             {QStringLiteral("desktop-entry"), QStringLiteral("millrace-workbench")}};
  // The text may be markup there, and reasons are texts of others.
  call << QStringLiteral("Millrace") << 0U << QString() << title << text.toHtmlEscaped() << QStringList() << hints
       << asTheDesktopLikes;
  m_bus.send(call); // whatever comes back, nobody waits for it
}

} // namespace millrace::ui
