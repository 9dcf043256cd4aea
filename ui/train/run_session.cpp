#include "train/run_session.h"

#include "bridge/text.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace millrace::ui {

namespace {

/// How many alerts stay in sight; all of them are in the log.
constexpr std::size_t mostAlerts = 20;
/// How long nothing may be heard of a run at work: so many seconds and steps; of an evaluation or a save, longer.
constexpr double quietSeconds = 10;
constexpr double quietSteps = 3;
constexpr double quietWorkSeconds = 60;

double steadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

QString stateText(RunState state) {
  switch (state) {
  case RunState::Preparing:
    return RunSession::tr("Preparing");
  case RunState::Running:
    return RunSession::tr("Training");
  case RunState::Paused:
    return RunSession::tr("Paused");
  case RunState::Evaluating:
    return RunSession::tr("Evaluating");
  case RunState::Saving:
    return RunSession::tr("Saving a checkpoint");
  case RunState::Stopping:
    return RunSession::tr("Stopping");
  case RunState::Finished:
    return RunSession::tr("Finished");
  case RunState::Failed:
    return RunSession::tr("Failed");
  case RunState::Interrupted:
    return RunSession::tr("Interrupted");
  }
  return {};
}

} // namespace

RunSession::RunSession(std::unique_ptr<RunFeed> feed, const QString& name, const QString& cacheFolder, QObject* parent)
    : QObject(parent), m_feed(std::move(feed)), m_name(name), m_clock(&steadySeconds), m_tables(cacheFolder) {
  connect(m_feed.get(), &RunFeed::eventsArrived, this, &RunSession::take);
  connect(m_feed.get(), &RunFeed::requestFailed, this, [this](const QString& message) {
    m_stopping = false; // it may have been that; a run that stops all the same says so
    Q_EMIT stateChanged();
    Q_EMIT requestFailed(message);
  });
  connect(m_feed.get(), &RunFeed::askingChanged, this, &RunSession::stateChanged);
  connect(m_feed.get(), &RunFeed::linkChanged, this, [this] {
    m_heard = m_clock();
    if (m_feed->link() == FeedLink::Ended) {
      m_stopping = false;
      m_pace.interrupt();
      // What was to be done about a run is nothing that is left to do once its folder was removed.
      if (m_feed->isLocal() && !m_feed->hasFolder()) dismissAlerts();
    }
    Q_EMIT stateChanged();
  });
}

RunSession::~RunSession() = default;

void RunSession::open() {
  m_feed->open();
}

bool RunSession::isLive() const {
  return m_feed->link() != FeedLink::Ended && !isFinal(m_state);
}

bool RunSession::canBeResumed() const {
  return m_feed->link() == FeedLink::Ended && m_feed->isLocal() && m_feed->hasFolder() &&
         m_state != RunState::Finished && m_feed->canBeResumed();
}

std::optional<double> RunSession::progress() const {
  if (m_state == RunState::Finished) return 1.0;
  if (!last() || last()->totalSteps <= 0) return std::nullopt;
  return std::clamp(static_cast<double>(last()->step) / static_cast<double>(last()->totalSteps), 0.0, 1.0);
}

std::optional<double> RunSession::secondsLeft() const {
  const auto pace = m_pace.secondsPerStep();
  const bool works = isLive() && m_feed->link() == FeedLink::Connected && m_state != RunState::Paused;
  if (!pace || !last() || last()->totalSteps <= 0 || !works || secondsSilent()) return std::nullopt;
  return *pace * static_cast<double>(std::max<std::int64_t>(0, last()->totalSteps - last()->step));
}

std::optional<double> RunSession::secondsSilent() const {
  const bool trains = m_state == RunState::Running;
  const bool due = trains || m_state == RunState::Evaluating || m_state == RunState::Saving;
  if (!due || !isLive() || m_feed->link() != FeedLink::Connected) return std::nullopt;
  const double silent = m_clock() - m_heard;
  const double expected = (trains ? quietSeconds : quietWorkSeconds) + quietSteps * m_pace.secondsPerStep().value_or(0);
  if (silent <= expected) return std::nullopt;
  return silent;
}

void RunSession::setClock(std::function<double()> clock) {
  m_clock = std::move(clock);
  m_heard = m_clock();
}

void RunSession::dismissAlerts() {
  if (m_alerts.empty()) return;
  m_alerts.clear();
  Q_EMIT alertsChanged();
}

void RunSession::take(const std::vector<RunEvent>& events) {
  m_heard = m_clock();
  const bool first = !std::exchange(m_wasHeard, true);
  const std::size_t alerts = m_alerts.size();
  bool stepsCame = false, stateCame = false;
  for (const RunEvent& event : events) {
    if (const auto* metrics = std::get_if<StepMetrics>(&event.body)) {
      takeStep(*metrics);
      stepsCame = true;
    } else if (const auto* change = std::get_if<StateChanged>(&event.body)) {
      takeState(event, *change);
      stateCame = true;
    } else if (const auto* evaluation = std::get_if<Evaluation>(&event.body)) {
      m_evaluation = *evaluation;
      m_tables.add(*evaluation, event.step, event.time);
      addLine(event.time, Severity::Info,
              tr("Step %1: validation loss %2%3")
                  .arg(event.step)
                  .arg(evaluation->loss, 0, 'g', 5)
                  .arg(evaluation->best ? tr(", the lowest so far") : QString()));
      stepsCame = true;
    } else if (const auto* sample = std::get_if<Sample>(&event.body)) {
      m_samples.append(event.step, *sample);
    } else if (const auto* saved = std::get_if<CheckpointSaved>(&event.body)) {
      m_checkpointStep = event.step;
      m_checkpointPath = toQt(saved->path);
      addLine(event.time, Severity::Info,
              tr("Step %1: checkpoint saved in %2 s: %3")
                  .arg(event.step)
                  .arg(saved->seconds, 0, 'g', 3)
                  .arg(m_checkpointPath));
      stateCame = true;
    } else if (const auto* alert = std::get_if<Alert>(&event.body)) {
      m_alerts.push_back(*alert);
    } else if (const auto* line = std::get_if<LogLine>(&event.body)) {
      addLine(event.time, line->severity, toQt(line->message));
    }
  }
  if (m_alerts.size() > mostAlerts) m_alerts.erase(m_alerts.begin(), m_alerts.end() - mostAlerts);
  flush();
  if (stepsCame) Q_EMIT stepped();
  if (stateCame || first) Q_EMIT stateChanged();
  if (m_alerts.size() != alerts) Q_EMIT alertsChanged();
}

void RunSession::takeStep(const StepMetrics& metrics) {
  if (m_tables.add(metrics)) m_pace.interrupt();
  m_hasGpu = m_hasGpu || metrics.gpu.has_value();
  m_pace.step(metrics.time, metrics.seconds);
}

void RunSession::takeState(const RunEvent& event, const StateChanged& change) {
  m_state = change.state;
  m_stateReason = toQt(change.reason);
  if (isFinal(change.state)) m_stopping = false;
  if (change.state == RunState::Paused || change.state == RunState::Preparing) m_pace.interrupt();
  // What comes with every evaluation and checkpoint is no news.
  if (change.state == RunState::Evaluating || change.state == RunState::Saving || change.state == RunState::Running)
    return;
  addLine(event.time, change.state == RunState::Failed ? Severity::Error : Severity::Info,
          m_stateReason.isEmpty() ? stateText(change.state) : tr("%1: %2").arg(stateText(change.state), m_stateReason));
}

void RunSession::addLine(double time, Severity severity, const QString& message) {
  m_newLines.push_back({time, severity, message});
}

void RunSession::flush() {
  m_tables.flush();
  m_log.append(std::move(m_newLines));
  m_newLines.clear();
}

void RunSession::pause() {
  m_feed->pause();
}

void RunSession::resumeTraining() {
  m_feed->resumeTraining();
}

void RunSession::checkpointNow() {
  m_feed->checkpointNow();
}

void RunSession::stopAndSave() {
  if (!isLive() || m_stopping) return;
  m_stopping = true;
  m_feed->stop();
  Q_EMIT stateChanged();
}

void RunSession::discard() {
  if (!isLive()) return;
  // The first asks for a stop, the second gives the save up.
  if (!m_stopping) m_feed->stop();
  m_stopping = true;
  m_feed->stop();
  Q_EMIT stateChanged();
}

} // namespace millrace::ui
