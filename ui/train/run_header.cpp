#include "train/run_header.h"

#include "style/elided_label.h"
#include "style/flow_layout.h"
#include "style/icons.h"
#include "style/numbers.h"
#include "style/status_colors.h"
#include "train/run_session.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QMessageBox>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>
#include <cmath>

namespace millrace::ui {

namespace {

/// How much of the state is never cut.
constexpr int stateCharacters = 30;
constexpr double secondsOfYear = 365.25 * 86400;

struct Look {
  QString word;
  QString icon;
  StatusKind status;
};

Look lookOf(const RunSession& session) {
  const FeedLink link = session.feed().link();
  const QString host = session.feed().host();
  // A host that has never answered is not one that fell silent.
  if (!host.isEmpty() && link != FeedLink::Ended && !session.wasHeard())
    return {RunHeader::tr("Connecting to %1…").arg(host), QStringLiteral("remote"), StatusKind::Unknown};
  if (link == FeedLink::Opening && session.wasHeard())
    return {RunHeader::tr("Reading what was recorded"), QStringLiteral("info"), StatusKind::Unknown};
  if (link == FeedLink::Opening) return {RunHeader::tr("Opening"), QStringLiteral("info"), StatusKind::Unknown};
  if (link == FeedLink::Reconnecting)
    return {RunHeader::tr("No news from the run"), QStringLiteral("warning"), StatusKind::Warning};
  if (session.isStopping()) return {RunHeader::tr("Stopping and saving"), QStringLiteral("save"), StatusKind::Unknown};
  const bool ended = link == FeedLink::Ended;
  switch (session.state()) {
  case RunState::Finished:
    return {RunHeader::tr("Finished"), QStringLiteral("ok"), StatusKind::Good};
  case RunState::Failed:
    return {RunHeader::tr("Failed"), QStringLiteral("error"), StatusKind::Bad};
  case RunState::Interrupted:
    return {RunHeader::tr("Interrupted"), QStringLiteral("warning"), StatusKind::Warning};
  default:
    break;
  }
  // Its process has gone without a word, or it never began.
  if (ended && (session.last() || session.canBeResumed()))
    return {RunHeader::tr("Interrupted"), QStringLiteral("warning"), StatusKind::Warning};
  if (ended && !host.isEmpty()) return {RunHeader::tr("Not reached"), QStringLiteral("error"), StatusKind::Bad};
  if (ended) return {RunHeader::tr("Not started"), QStringLiteral("error"), StatusKind::Bad};
  switch (session.state()) {
  case RunState::Preparing:
    return {RunHeader::tr("Preparing"), QStringLiteral("info"), StatusKind::Unknown};
  case RunState::Paused:
    return {RunHeader::tr("Paused"), QStringLiteral("pause"), StatusKind::Warning};
  case RunState::Evaluating:
    return {RunHeader::tr("Evaluating"), QStringLiteral("chart"), StatusKind::Good};
  case RunState::Saving:
    return {RunHeader::tr("Saving a checkpoint"), QStringLiteral("save"), StatusKind::Good};
  case RunState::Stopping:
    return {RunHeader::tr("Stopping"), QStringLiteral("stop"), StatusKind::Unknown};
  default:
    return {RunHeader::tr("Training"), QStringLiteral("play"), StatusKind::Good};
  }
}

/// "GPU 97%, 511 W, 68 °C"; what its driver does not tell is left out.
QString gpuText(const std::optional<GpuMetrics>& gpu) {
  if (!gpu) return RunHeader::tr("GPU: its driver tells nothing");
  QStringList parts;
  if (gpu->utilization) parts << RunHeader::tr("%1%").arg(std::lround(100 * *gpu->utilization));
  if (gpu->powerWatts) parts << RunHeader::tr("%1 W").arg(std::lround(*gpu->powerWatts));
  if (gpu->temperature) parts << RunHeader::tr("%1 °C").arg(std::lround(*gpu->temperature));
  return parts.isEmpty() ? QString() : RunHeader::tr("GPU %1").arg(parts.join(QStringLiteral(", ")));
}

/// "1.4 TB written a day, drive life 2.3 years"; what is not known is left out.
QString drivesText(const DriveMetrics& drives) {
  const QString written =
      RunHeader::tr("%1 written a day").arg(bytesText(static_cast<std::int64_t>(std::min(drives.writtenPerDay, 9e18))));
  if (drives.lifeYears <= 0) return written;
  const QString life = durationText(drives.lifeYears * secondsOfYear);
  return written + QStringLiteral(", ") +
         (drives.ratingAssumed ? RunHeader::tr("drive life about %1").arg(life)
                               : RunHeader::tr("drive life %1").arg(life));
}

QString figuresOf(const RunSession& session) {
  if (!session.last()) return {};
  const StepMetrics& last = *session.last();
  QStringList parts;
  parts << (last.totalSteps > 0 ? RunHeader::tr("step %1 of %2").arg(countText(last.step), countText(last.totalSteps))
                                : RunHeader::tr("step %1").arg(countText(last.step)));
  parts << RunHeader::tr("loss %1").arg(numberText(last.loss));
  if (session.evaluation()) parts << RunHeader::tr("validation %1").arg(numberText(session.evaluation()->loss));
  if (const auto silent = session.secondsSilent())
    parts << RunHeader::tr("no news for %1").arg(durationText(std::floor(*silent)));
  else if (session.feed().link() == FeedLink::Connected && session.isLive() && session.state() != RunState::Paused)
    parts << RunHeader::tr("%1 tokens/s").arg(shortCountText(last.tokensPerSecond));
  if (const auto left = session.secondsLeft()) parts << RunHeader::tr("%1 left").arg(durationText(*left));
  if (const QString gpu = session.hasGpu() && session.isLive() ? gpuText(last.gpu) : QString(); !gpu.isEmpty())
    parts << gpu;
  if (last.drives && session.isLive()) parts << drivesText(*last.drives);
  // Last, since the end is what a narrow window has no room for.
  parts << RunHeader::tr("%1 tokens").arg(shortCountText(static_cast<double>(last.tokensTotal)));
  return parts.join(QStringLiteral("  ·  "));
}

/// Why the run stands as it does; empty where there is nothing to say.
QString reasonOf(const RunSession& session) {
  const QString link = session.feed().linkReason();
  return link.isEmpty() ? session.stateReason() : link;
}

} // namespace

RunHeader::RunHeader(QWidget* parent)
    : QWidget(parent),
      m_icon(new QLabel),
      m_name(new ElidedLabel),
      m_state(new ElidedLabel(Qt::ElideRight)),
      m_reason(new QLabel),
      m_figures(new ElidedLabel(Qt::ElideRight)),
      m_progress(new QProgressBar) {
  QFont large = font();
  large.setPointSizeF(large.pointSizeF() * 1.3);
  large.setBold(true);
  m_name->setFont(large);
  m_name->setObjectName(QStringLiteral("runName"));
  m_state->setObjectName(QStringLiteral("runState"));
  m_figures->setObjectName(QStringLiteral("runFigures"));
  // Whole, and to be copied: it may be what somebody looks for help with.
  m_reason->setObjectName(QStringLiteral("runReason"));
  m_reason->setWordWrap(true);
  m_reason->setTextFormat(Qt::PlainText);
  m_reason->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  m_progress->setObjectName(QStringLiteral("runProgress"));
  m_progress->setAccessibleName(tr("Progress of the run"));
  m_progress->setTextVisible(true);
  QSizePolicy keepsPlace = m_progress->sizePolicy();
  keepsPlace.setRetainSizeWhenHidden(true);
  m_progress->setSizePolicy(keepsPlace);

  auto* buttons = new FlowLayout;
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  auto* top = new QHBoxLayout;
  top->addWidget(m_icon);
  top->addWidget(m_name);
  top->addWidget(m_state);
  top->addStretch(1);
  layout->addLayout(top);
  auto* middle = new QHBoxLayout;
  middle->addWidget(m_progress, 1);
  middle->addWidget(m_figures, 2);
  layout->addLayout(middle);
  layout->addLayout(buttons);
  layout->addWidget(m_reason); // last: the buttons stay where they are when it comes and goes

  m_pause = addButton(tr("&Pause"), QStringLiteral("pause"), tr("Stand still after this step; memory stays taken"),
                      QStringLiteral("pauseButton"));
  m_continue =
      addButton(tr("&Continue"), QStringLiteral("play"), tr("Go on with training"), QStringLiteral("continueButton"));
  m_checkpoint = addButton(tr("Chec&kpoint now"), QStringLiteral("save"),
                           tr("Save the state after this step and go on"), QStringLiteral("checkpointButton"));
  m_stop = addButton(tr("S&top and save"), QStringLiteral("stop"),
                     tr("Save the state and end; the run can be resumed from there"), QStringLiteral("stopButton"));
  m_discard = addButton(tr("&Discard…"), QStringLiteral("discard"),
                        tr("End at once without saving; the last checkpoint stands"), QStringLiteral("discardButton"));
  m_resumeRun = addButton(tr("Res&ume"), QStringLiteral("play"), tr("Go on from the last checkpoint, in this window"),
                          QStringLiteral("resumeRunButton"));
  m_resumeDetached = addButton(tr("Resume de&tached"), QStringLiteral("play"),
                               tr("Go on from the last checkpoint in a program of its own, which outlives this window"),
                               QStringLiteral("resumeDetachedButton"));
  m_reconnect = addButton(tr("Reconnec&t now"), QStringLiteral("remote"), tr("Try again at once"),
                          QStringLiteral("reconnectButton"));
  m_folder = addButton(tr("&Open folder"), QStringLiteral("folder"), tr("Show the run's files"),
                       QStringLiteral("folderButton"));
  for (QPushButton* button :
       {m_pause, m_continue, m_checkpoint, m_stop, m_discard, m_resumeRun, m_resumeDetached, m_reconnect, m_folder})
    buttons->addWidget(button);

  // They take each other's place: what stands beside them stays.
  const int width = std::max(m_pause->sizeHint().width(), m_continue->sizeHint().width());
  m_pause->setMinimumWidth(width);
  m_continue->setMinimumWidth(width);

  const auto steer = [this](QPushButton* button, void (RunSession::*request)()) {
    connect(button, &QPushButton::clicked, this, [this, request] {
      if (m_session) (m_session->*request)();
    });
  };
  steer(m_pause, &RunSession::pause);
  steer(m_continue, &RunSession::resumeTraining);
  steer(m_checkpoint, &RunSession::checkpointNow);
  steer(m_stop, &RunSession::stopAndSave);
  steer(m_reconnect, &RunSession::reconnect);
  connect(m_discard, &QPushButton::clicked, this, &RunHeader::askDiscard);
  connect(m_resumeRun, &QPushButton::clicked, this, &RunHeader::resumeRunRequested);
  connect(m_resumeDetached, &QPushButton::clicked, this, &RunHeader::resumeDetachedRequested);
  connect(m_folder, &QPushButton::clicked, this, &RunHeader::openFolderRequested);
  m_tick.setInterval(std::chrono::seconds(1));
  connect(&m_tick, &QTimer::timeout, this, &RunHeader::showFigures);
}

QPushButton* RunHeader::addButton(const QString& text, const QString& iconName, const QString& toolTip,
                                  const QString& name) {
  auto* button = new QPushButton(icon(iconName), text);
  button->setToolTip(toolTip);
  button->setObjectName(name);
  button->setAutoDefault(false);
  return button;
}

void RunHeader::show(RunSession* session) {
  if (m_session) m_session->disconnect(this);
  m_session = session;
  m_tick.stop();
  if (!session) return;
  m_tick.start();
  connect(session, &RunSession::stateChanged, this, &RunHeader::showState);
  connect(session, &RunSession::stepped, this, &RunHeader::showFigures);
  m_name->setText(session->name());
  m_name->setToolTip(session->feed().place());
  showState();
}

void RunHeader::showState() {
  if (!m_session) return;
  const RunSession& session = *m_session;
  const Look look = lookOf(session);
  const int side = fontMetrics().height() + 4;
  m_icon->setPixmap(icon(look.icon).pixmap(QSize(side, side), devicePixelRatioF()));
  QPalette colors = palette();
  colors.setColor(QPalette::WindowText, statusColor(look.status, palette()));
  m_state->setPalette(colors);
  m_state->setText(session.feed().isAsking() ? tr("%1 – asking…").arg(look.word) : look.word);
  // The name gives way before it.
  m_state->setMinimumWidth(std::min(m_state->sizeHint().width(), fontMetrics().averageCharWidth() * stateCharacters));
  const QString reason = reasonOf(session);
  m_reason->setText(reason);
  m_reason->setVisible(!reason.isEmpty());
  showButtons();
  showFigures();
}

void RunHeader::showButtons() {
  const RunSession& session = *m_session;
  // Qt gives the focus of a button that goes to the next one, which may be the one that ends the run.
  auto* const focused = qobject_cast<QPushButton*>(QApplication::focusWidget());
  const bool ours = focused && isAncestorOf(focused);

  const FeedLink link = session.feed().link();
  const bool live = session.isLive() && link == FeedLink::Connected;
  const bool stopping = session.isStopping() || session.state() == RunState::Stopping;
  const bool paused = session.state() == RunState::Paused;
  m_pause->setVisible(!paused && link != FeedLink::Ended);
  m_pause->setEnabled(live && !stopping);
  m_continue->setVisible(paused && link != FeedLink::Ended);
  m_continue->setEnabled(live && !stopping);
  m_checkpoint->setVisible(link != FeedLink::Ended);
  m_checkpoint->setEnabled(live && !stopping && session.state() != RunState::Preparing);
  // A run of this process takes note of it before it is there; others have to be reached.
  const bool hears = live || (session.isLive() && session.feed().inProcess());
  m_stop->setVisible(link != FeedLink::Ended);
  m_stop->setEnabled(hears && !stopping);
  m_discard->setVisible(link != FeedLink::Ended);
  m_discard->setEnabled(hears);
  m_resumeRun->setVisible(session.canBeResumed());
  m_resumeDetached->setVisible(session.canBeResumed());
  const bool unreached = link == FeedLink::Ended && !session.wasHeard();
  m_reconnect->setVisible((link == FeedLink::Reconnecting || unreached) && !session.feed().isLocal());
  m_folder->setVisible(session.feed().isLocal());
  m_folder->setEnabled(session.feed().hasFolder());

  const auto usable = [](const QPushButton* button) { return button->isVisible() && button->isEnabled(); };
  if (!ours || usable(focused)) return;
  QPushButton* const opposite = focused == m_pause ? m_continue : focused == m_continue ? m_pause : nullptr;
  if (opposite && usable(opposite))
    opposite->setFocus();
  else
    Q_EMIT focusLost();
}

void RunHeader::showFigures() {
  if (!m_session) return;
  m_figures->setText(figuresOf(*m_session));
  const auto progress = m_session->progress();
  const FeedLink link = m_session->feed().link();
  const bool works = link == FeedLink::Opening || link == FeedLink::Connected; // between attempts nothing is done
  const bool busy = m_session->isLive() && works && !progress;
  m_progress->setVisible(busy || progress || m_session->isLive());
  m_progress->setRange(0, busy ? 0 : 1000);
  m_progress->setValue(static_cast<int>(std::floor(1000 * progress.value_or(0))));
  m_progress->setFormat(progress ? tr("%1%").arg(100 * *progress, 0, 'f', 1) : QString());
}

void RunHeader::askDiscard() {
  if (!m_session) return;
  const std::int64_t step = m_session->last() ? m_session->last()->step : 0;
  const std::int64_t kept = m_session->stepOfCheckpoint();
  auto* question =
      new QMessageBox(QMessageBox::Warning, tr("Discard"),
                      kept >= 0 ? tr("End the run without saving? %1 steps since the checkpoint of step "
                                     "%2 are lost.")
                                      .arg(countText(std::max<std::int64_t>(0, step - kept)), countText(kept))
                                : tr("End the run without saving? There is no checkpoint yet: all %1 "
                                     "steps are lost.")
                                      .arg(countText(step)),
                      QMessageBox::Cancel, this);
  question->setObjectName(QStringLiteral("discardQuestion"));
  QPushButton* discard = question->addButton(tr("&Discard"), QMessageBox::DestructiveRole);
  discard->setObjectName(QStringLiteral("confirmDiscard"));
  question->button(QMessageBox::Cancel)->setText(tr("&Cancel"));
  question->setDefaultButton(QMessageBox::Cancel);
  question->setAttribute(Qt::WA_DeleteOnClose);
  connect(discard, &QPushButton::clicked, this, [this] {
    if (m_session) m_session->discard();
  });
  question->open();
}

} // namespace millrace::ui
