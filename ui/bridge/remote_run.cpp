#include "bridge/remote_run.h"

#include "bridge/child_signals.h"
#include "bridge/text.h"

#include <algorithm>
#include <chrono>

namespace millrace::ui {

namespace {

constexpr int mostEventsAtOnce = 2048;
constexpr qsizetype longestLine = 16 << 20;
/// A greeting may come before the first event; more than this is no greeting.
constexpr int longestGreeting = 200;
/// Of what is no event, shown to people.
constexpr qsizetype mostShown = 80;
/// What ssh itself ends with when it cannot connect or the link breaks.
constexpr int sshFailed = 255;

QString lastLine(const QByteArray& text) {
  return toQt(text.trimmed().split('\n').last().trimmed().toStdString());
}

} // namespace

RemoteRun::RemoteRun(RemotePlace place, RemotePrograms programs, QObject* parent)
    : RunFeed(parent), m_place(std::move(place)), m_programs(std::move(programs)) {
  m_retry.setSingleShot(true);
  connect(&m_retry, &QTimer::timeout, this, &RemoteRun::connectNow);
  connect(&m_watch, &QProcess::readyReadStandardOutput, this, &RemoteRun::read);
  connect(&m_watch, &QProcess::finished, this, &RemoteRun::disconnected);
  connect(&m_watch, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error == QProcess::FailedToStart)
      setLink(FeedLink::Ended, tr("%1 cannot be started: %2").arg(m_programs.ssh, m_watch.errorString()));
  });
}

RemoteRun::~RemoteRun() {
  m_watch.disconnect(this);
  m_watch.kill();
  m_watch.waitForFinished(1000); // a killed process is gone at once; this only reaps it
}

void RemoteRun::open() {
  connectNow();
}

void RemoteRun::reconnect() {
  const bool unreached = link() == FeedLink::Ended && m_lastStep < 0;
  if ((link() != FeedLink::Reconnecting && !unreached) || m_watch.state() != QProcess::NotRunning) return;
  m_attempts = 0;
  if (unreached) setLink(FeedLink::Opening);
  connectNow();
}

void RemoteRun::connectNow() {
  m_retry.stop();
  m_partial.clear();
  m_damage.clear();
  m_damagedLines = 0;
  m_heardThisTime = false;
  QStringList command = {m_programs.millrace, QStringLiteral("watch"), QStringLiteral("--json"),
                         QStringLiteral("--wait"), QStringLiteral("1e9")};
  // Events of the last step may not have been told to their end.
  if (m_lastStep > 0) command << QStringLiteral("--from-step") << QString::number(m_lastStep);
  command << m_place.path;
  withDefaultSignals(m_watch);
  m_watch.start(m_programs.ssh, m_place.sshArguments(command), QIODevice::ReadOnly);
}

void RemoteRun::read() {
  std::vector<RunEvent> events;
  m_partial += m_watch.readAllStandardOutput();
  qsizetype begin = 0;
  for (qsizetype end = m_partial.indexOf('\n'); end >= 0; end = m_partial.indexOf('\n', begin)) {
    take(m_partial.mid(begin, end - begin), events);
    begin = end + 1;
    if (events.size() < mostEventsAtOnce) continue;
    Q_EMIT eventsArrived(events);
    events.clear();
  }
  m_partial.remove(0, begin);
  if (!events.empty()) Q_EMIT eventsArrived(events);
  if (m_partial.size() > longestLine) { // not what millrace prints
    takeDamage(m_partial);
    m_partial.clear();
    m_damagedLines = longestGreeting;
  }
  if (m_damagedLines >= longestGreeting) m_watch.kill();
}

void RemoteRun::take(const QByteArray& line, std::vector<RunEvent>& events) {
  if (line.trimmed().isEmpty()) return;
  auto event = runEventFromJson({line.constData(), static_cast<std::size_t>(line.size())}, "watch");
  if (!event) return takeDamage(line);
  if (!m_heardThisTime) setLink(FeedLink::Connected);
  m_heardThisTime = true;
  m_attempts = 0;
  if (m_ofLastStep.contains(line)) return;
  if (event->step != m_lastStep) m_ofLastStep.clear();
  m_lastStep = event->step;
  m_ofLastStep.push_back(line);
  if (const auto* change = std::get_if<StateChanged>(&event->body)) m_final = isFinal(change->state);
  events.push_back(std::move(*event));
}

void RemoteRun::takeDamage(const QByteArray& line) {
  if (m_heardThisTime) return; // a line among events that is none
  ++m_damagedLines;
  if (m_damage.isEmpty()) m_damage = toQt(line.left(4 * mostShown).trimmed().toStdString()).left(mostShown);
  setLink(link(), notARun()); // at once: it may never end by itself
}

QString RemoteRun::notARun() const {
  return tr("%1 answers something that is not a run: %2").arg(m_place.host, m_damage);
}

void RemoteRun::disconnected() {
  read();
  const QString said = lastLine(m_watch.readAllStandardError());
  const int code = m_watch.exitStatus() == QProcess::NormalExit ? m_watch.exitCode() : sshFailed;
  if (m_damagedLines >= longestGreeting || (code == 0 && m_lastStep < 0 && !m_heardThisTime && !m_damage.isEmpty()))
    return setLink(FeedLink::Ended, notARun());
  if (code == 0 && m_lastStep < 0 && !m_heardThisTime)
    return setLink(FeedLink::Ended, tr("%1 answers, but tells nothing of a run").arg(m_place.host));
  if (code == 0 || (m_final && code != sshFailed)) return setLink(FeedLink::Ended);
  // The program there has answered, and it will not answer differently: no such run, no such program.
  if (code != sshFailed && !m_heardThisTime) {
    const QString reason = code == 127 ? tr("%1 has no program '%2': %3").arg(m_place.host, m_programs.millrace, said)
                                       : tr("%1 answers: %2").arg(m_place.host, said);
    return setLink(FeedLink::Ended, reason);
  }
  retryLater(said.isEmpty() ? tr("the connection to %1 was lost").arg(m_place.host) : said);
}

void RemoteRun::retryLater(const QString& reason) {
  const auto wait = std::chrono::seconds(std::min(30, 1 << std::min(m_attempts, 5)));
  ++m_attempts;
  m_retry.start(wait);
  setLink(FeedLink::Reconnecting, tr("%1; trying again in %n s", nullptr, static_cast<int>(wait.count())).arg(reason));
}

void RemoteRun::request(const QString& word) {
  auto* process = new QProcess(this);
  const QString host = m_place.host;
  beginRequest();
  connect(process, &QProcess::finished, this, [this, process, host](int code) {
    endRequest(code == 0 ? QString() : tr("%1: %2").arg(host, lastLine(process->readAllStandardError())));
    process->deleteLater();
  });
  connect(process, &QProcess::errorOccurred, this, [this, process](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    endRequest(tr("%1 cannot be started: %2").arg(m_programs.ssh, process->errorString()));
    process->deleteLater();
  });
  withDefaultSignals(*process);
  process->start(m_programs.ssh, m_place.sshArguments({m_programs.millrace, QStringLiteral("ctl"), m_place.path, word}),
                 QIODevice::ReadOnly);
}

} // namespace millrace::ui
