#include "train/train_page.h"

#include "style/page_area.h"
#include "train/alert_bar.h"
#include "train/charts_panel.h"
#include "train/export_dialog.h"
#include "train/log_panel.h"
#include "train/run_header.h"
#include "train/run_session.h"
#include "train/samples_panel.h"

#include <QLabel>
#include <QPushButton>
#include <QSplitter>
#include <QStackedLayout>
#include <QTabWidget>
#include <QTimer>
#include <QVBoxLayout>
#include <chrono>

namespace millrace::ui {

namespace {
/// How long the answer to a request that failed stays in sight; the log keeps it.
constexpr std::chrono::seconds problemStays{30};
} // namespace

TrainPage::TrainPage(QWidget* parent)
    : QWidget(parent),
      m_stack(new QStackedLayout(this)),
      m_header(new RunHeader),
      m_alerts(new AlertBar),
      m_problem(new QLabel),
      m_charts(new ChartsPanel),
      m_samples(new SamplesPanel),
      m_log(new LogPanel),
      m_tabs(new QTabWidget),
      m_splitter(new QSplitter(Qt::Vertical)) {
  m_stack->addWidget(new PageArea(makeEmptyPage()));
  m_stack->addWidget(new PageArea(makeRunPage()));
  connect(m_header, &RunHeader::resumeRunRequested, this, &TrainPage::resumeRunRequested);
  connect(m_header, &RunHeader::resumeDetachedRequested, this, &TrainPage::resumeDetachedRequested);
  connect(m_header, &RunHeader::openFolderRequested, this, &TrainPage::openFolderRequested);
  connect(m_header, &RunHeader::focusLost, this, &TrainPage::focusCharts);
  connect(m_charts, &ChartsPanel::exportFailed, this, &TrainPage::showProblem);
  connect(m_alerts, &AlertBar::dismissed, this, [this] {
    if (m_session) m_session->dismissAlerts();
  });
}

TrainPage::~TrainPage() = default;

void TrainPage::openExport() {
  if (m_session) (new ExportDialog(m_session->feed().place(), m_session->name(), this))->open();
}

QWidget* TrainPage::makeEmptyPage() {
  auto* page = new QWidget;
  auto* title = new QLabel(tr("No run is shown"));
  QFont large = font();
  large.setPointSizeF(large.pointSizeF() * 1.4);
  title->setFont(large);
  title->setAlignment(Qt::AlignCenter);
  auto* text = new QLabel(tr("Start one from a project, or open the folder of a run that is being made or was made "
                             "before."));
  text->setAlignment(Qt::AlignCenter);
  text->setWordWrap(true);
  auto* configure = new QPushButton(tr("&Configure a project"));
  configure->setObjectName(QStringLiteral("emptyConfigure"));
  auto* open = new QPushButton(tr("&Open a run…"));
  open->setObjectName(QStringLiteral("emptyOpenRun"));
  connect(configure, &QPushButton::clicked, this, &TrainPage::configureRequested);
  connect(open, &QPushButton::clicked, this, &TrainPage::openRunRequested);
  auto* buttons = new QHBoxLayout;
  buttons->addStretch(1);
  buttons->addWidget(configure);
  buttons->addWidget(open);
  buttons->addStretch(1);
  auto* layout = new QVBoxLayout(page);
  layout->addStretch(1);
  layout->addWidget(title);
  layout->addWidget(text);
  layout->addLayout(buttons);
  layout->addStretch(2);
  return page;
}

QWidget* TrainPage::makeRunPage() {
  auto* page = new QWidget;
  m_problem->setWordWrap(true);
  m_problem->setTextFormat(Qt::PlainText);
  m_problem->setObjectName(QStringLiteral("requestProblem"));
  m_problem->hide();
  m_tabs->addTab(m_samples, tr("S&amples"));
  m_tabs->addTab(m_log, tr("Lo&g"));
  m_tabs->setObjectName(QStringLiteral("runTabs"));
  m_tabs->setDocumentMode(true);
  m_splitter->addWidget(m_charts);
  m_splitter->addWidget(m_tabs);
  m_splitter->setStretchFactor(0, 3);
  m_splitter->setStretchFactor(1, 1);
  m_splitter->setSizes({3000, 1000}); // shares of what there is; the factors hold for what is added later
  m_splitter->setChildrenCollapsible(false);
  auto* layout = new QVBoxLayout(page);
  layout->addWidget(m_header);
  layout->addWidget(m_alerts);
  layout->addWidget(m_problem);
  layout->addWidget(m_splitter, 1);
  return page;
}

void TrainPage::show(RunSession* session) {
  if (m_session) m_session->disconnect(this);
  m_session = session;
  m_header->show(session);
  m_charts->show(session);
  m_samples->show(session ? &session->samples() : nullptr);
  m_log->show(session ? &session->log() : nullptr);
  m_alerts->setAlerts(session ? session->alerts() : std::vector<Alert>());
  m_problem->hide();
  m_stack->setCurrentIndex(session ? 1 : 0);
  if (!session) return;
  connect(session, &RunSession::alertsChanged, this, [this] { m_alerts->setAlerts(m_session->alerts()); });
  connect(session, &RunSession::requestFailed, this, [this](const QString& message) {
    showProblem(message);
    m_problemState = stateShown();
  });
  connect(session, &RunSession::stateChanged, this, &TrainPage::stateChanged);
}

void TrainPage::focusCharts() {
  if (m_session) m_charts->setFocus(Qt::OtherFocusReason);
}

std::pair<RunState, FeedLink> TrainPage::stateShown() const {
  return {m_session->state(), m_session->feed().link()};
}

void TrainPage::stateChanged() {
  // What was answered in another state is over with it.
  if (m_problemState && *m_problemState != stateShown()) m_problem->hide();
}

void TrainPage::showProblem(const QString& message) {
  m_problemState.reset();
  m_problem->setText(message);
  m_problem->show();
  QTimer::singleShot(problemStays, m_problem, [label = m_problem, message] {
    if (label->text() == message) label->hide();
  });
}

QByteArray TrainPage::saveLayout() const {
  return m_splitter->saveState();
}

void TrainPage::restoreLayout(const QByteArray& state) {
  m_splitter->restoreState(state);
}

} // namespace millrace::ui
