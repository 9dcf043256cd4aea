#include "runs/runs_page.h"

#include "bridge/background.h"
#include "bridge/text.h"
#include "runs/comparison_warnings.h"
#include "runs/delete_checkpoints_dialog.h"
#include "runs/overlay_charts.h"
#include "runs/plain_table.h"
#include "runs/queue_panel.h"
#include "runs/run_details_panel.h"
#include "runs/run_filter.h"
#include "runs/run_filter_bar.h"
#include "runs/run_history.h"
#include "runs/run_queue.h"
#include "runs/run_table_model.h"
#include "runs/settings_panel.h"
#include "style/numbers.h"
#include "style/page_area.h"

#include <QDesktopServices>
#include <QInputDialog>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QStackedLayout>
#include <QTabWidget>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>
#include <chrono>

namespace millrace::ui {

namespace {

constexpr std::chrono::seconds lookInterval{5};
constexpr std::chrono::milliseconds settleTime{150};
constexpr int emptyPage = 0, tablePage = 1;

} // namespace

RunsPage::RunsPage(RunHistory& history, RunQueue& queue, const QString& cacheFolder, QWidget* parent)
    : QWidget(parent),
      m_history(history),
      m_queue(queue),
      m_model(new RunTableModel(this)),
      m_filter(new RunFilter(this)),
      m_filterBar(new RunFilterBar(*m_filter)),
      m_stack(new QStackedLayout(this)) {
  m_filter->setSourceModel(m_model);
  m_stack->addWidget(new PageArea(makeEmptyPage()));
  m_stack->addWidget(new PageArea(makePage(cacheFolder)));
  m_settle.setInterval(settleTime);
  m_settle.setSingleShot(true);
  connect(&m_settle, &QTimer::timeout, this, &RunsPage::compare);
  connect(m_tabs, &QTabWidget::currentChanged, this, &RunsPage::drawCharts);
  m_look.setInterval(lookInterval);
  connect(&m_look, &QTimer::timeout, this, [this] {
    if (isVisible() && !window()->isMinimized()) m_history.refresh();
  });
  m_look.start();
  connect(&m_history, &RunHistory::changed, this, &RunsPage::historyChanged);
  connect(&m_queue, &RunQueue::changed, this, &RunsPage::choosePage);
  connect(&m_history, &RunHistory::baselineChanged, this, [this] {
    historyChanged();
    selectionChanged();
  });
  connect(&m_history, &RunHistory::notesFailed, this, [this](const QString& run, const QString& message) {
    showProblem(tr("The notes of %1 are not kept beside it: %2").arg(run, message));
  });
  for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved})
    connect(m_filter, signal, this, &RunsPage::showCounts);
  connect(m_table->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunsPage::selectionChanged);
  connect(m_table, &QTreeView::activated, this,
          [this](const QModelIndex& index) { Q_EMIT openRequested(index.data(RunTableModel::PathRole).toString()); });
  connectDetails();
  historyChanged();
  selectionChanged();
}

RunsPage::~RunsPage() = default;

QWidget* RunsPage::makeEmptyPage() {
  auto* page = new QWidget;
  auto* title = new QLabel(tr("No runs yet"));
  QFont large = font();
  large.setPointSizeF(large.pointSizeF() * 1.4);
  title->setFont(large);
  title->setAlignment(Qt::AlignCenter);
  auto* text = new QLabel(tr("Every run that is made on this machine is listed here, whichever program makes it, and "
                             "stays so when its checkpoints are deleted."));
  text->setAlignment(Qt::AlignCenter);
  text->setWordWrap(true);
  auto* configure = new QPushButton(tr("&Configure a project"));
  configure->setObjectName(QStringLiteral("runsConfigure"));
  auto* open = new QPushButton(tr("&Open a run…"));
  open->setObjectName(QStringLiteral("runsOpenRun"));
  connect(configure, &QPushButton::clicked, this, &RunsPage::configureRequested);
  connect(open, &QPushButton::clicked, this, &RunsPage::openRunRequested);
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

QWidget* RunsPage::makePage(const QString& cacheFolder) {
  m_table = plainTable(QStringLiteral("runTable"), tr("Runs"));
  m_table->setModel(m_filter);
  m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
  m_table->setSortingEnabled(true);
  m_table->sortByColumn(RunTableModel::ChangedColumn, Qt::DescendingOrder);
  m_table->setMinimumHeight(6 * fontMetrics().lineSpacing());
  const int letter = fontMetrics().averageCharWidth();
  QHeaderView* header = m_table->header();
  header->resizeSection(RunTableModel::NameColumn, 34 * letter);
  header->resizeSection(RunTableModel::OutcomeColumn, 16 * letter);
  for (const int column : {RunTableModel::ProgressColumn, RunTableModel::BeganColumn, RunTableModel::ChangedColumn})
    header->resizeSection(column, 25 * letter);
  for (const int column : {RunTableModel::LossColumn, RunTableModel::ValidationColumn, RunTableModel::SpeedColumn,
                           RunTableModel::CheckpointsColumn})
    header->resizeSection(column, 13 * letter);
  header->resizeSection(RunTableModel::ModelColumn, 28 * letter);
  m_notice = new QLabel;
  m_notice->setObjectName(QStringLiteral("historyNotice"));
  m_notice->setWordWrap(true);
  m_notice->setTextFormat(Qt::PlainText);
  m_warnings = new ComparisonWarnings;

  m_splitter = new QSplitter(Qt::Vertical);
  m_splitter->addWidget(m_table);
  m_splitter->addWidget(makeTabs(cacheFolder));
  m_splitter->setChildrenCollapsible(false);
  m_splitter->setSizes({2000, 2400}); // shares of what there is
  auto* page = new QWidget;
  auto* layout = new QVBoxLayout(page);
  layout->addWidget(m_filterBar);
  layout->addWidget(m_notice);
  layout->addWidget(m_splitter, 1);
  layout->addWidget(m_warnings); // below all: the table stays where it is clicked
  return page;
}

QWidget* RunsPage::makeTabs(const QString& cacheFolder) {
  m_details = new RunDetailsPanel;
  m_noDetails = new QLabel;
  m_noDetails->setAlignment(Qt::AlignCenter);
  m_noDetails->setWordWrap(true);
  auto* details = new QWidget;
  m_detailsStack = new QStackedLayout(details);
  m_detailsStack->addWidget(m_noDetails);
  m_detailsStack->addWidget(m_details);
  auto* scroll = new PageArea(details);
  scroll->setFocusPolicy(Qt::NoFocus);

  m_charts = new OverlayCharts(cacheFolder);
  m_settings = new SettingsPanel;
  connect(m_settings, &SettingsPanel::warned, m_warnings, &ComparisonWarnings::show);
  auto* queuePanel = new QueuePanel(m_queue);
  connect(queuePanel, &QueuePanel::addRequested, this, &RunsPage::queueProjectRequested);

  m_tabs = new QTabWidget;
  m_tabs->setObjectName(QStringLiteral("runsTabs"));
  m_tabs->setDocumentMode(true);
  m_tabs->setUsesScrollButtons(false); // all of them are always in sight
  m_tabs->addTab(scroll, tr("&Details"));
  m_tabs->addTab(m_charts, tr("&Charts"));
  m_tabs->addTab(m_settings, tr("Settin&gs"));
  m_tabs->addTab(queuePanel, tr("&Queue"));
  return m_tabs;
}

void RunsPage::connectDetails() {
  connect(m_details, &RunDetailsPanel::openRequested, this, &RunsPage::openRequested);
  connect(m_details, &RunDetailsPanel::resumeRequested, this, &RunsPage::resumeRequested);
  connect(m_details, &RunDetailsPanel::queueRequested, this, &RunsPage::queueRequested);
  connect(m_details, &RunDetailsPanel::branchRequested, this, &RunsPage::askBranch);
  connect(m_details, &RunDetailsPanel::exportRequested, this, &RunsPage::exportRequested);
  connect(m_details, &RunDetailsPanel::deleteRequested, this, &RunsPage::askDelete);
  connect(m_details, &RunDetailsPanel::folderRequested, this,
          [](const QString& run) { QDesktopServices::openUrl(QUrl::fromLocalFile(run)); });
  connect(m_details, &RunDetailsPanel::forgetRequested, &m_history, &RunHistory::forget);
  connect(m_details, &RunDetailsPanel::baselineRequested, &m_history, &RunHistory::setBaseline);
  connect(m_details, &RunDetailsPanel::notesChanged, &m_history, &RunHistory::setNotes);
}

void RunsPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  m_history.refresh();
}

QStringList RunsPage::selected() const {
  QModelIndexList rows = m_table->selectionModel()->selectedRows();
  std::sort(rows.begin(), rows.end()); // as they stand in the table, so that colours are those of the order in sight
  QStringList runs;
  for (const QModelIndex& row : rows) runs << row.data(RunTableModel::PathRole).toString();
  return runs;
}

QStringList RunsPage::compared() const {
  QStringList runs = selected();
  const QString baseline = m_history.baseline();
  if (!runs.isEmpty() && m_history.find(baseline)) {
    runs.removeAll(baseline);
    runs.prepend(baseline);
  }
  // Of what is gone there is nothing to draw.
  runs.removeIf([this](const QString& run) {
    const RunEntry* entry = m_history.find(run);
    return !entry || !entry->present;
  });
  return runs;
}

void RunsPage::select(const QStringList& runs) {
  QItemSelection selection;
  for (const QString& run : runs) {
    const int row = m_model->rowOf(run);
    const QModelIndex index = row < 0 ? QModelIndex() : m_filter->mapFromSource(m_model->index(row, 0));
    if (index.isValid()) selection.select(index, index);
  }
  m_table->selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
  if (!selection.isEmpty()) m_table->scrollTo(selection.indexes().first());
}

void RunsPage::historyChanged() {
  const bool first = m_model->rowCount() == 0;
  m_model->setRuns(m_history.runs());
  m_model->setBaseline(m_history.baseline());
  QStringList tags;
  for (const RunEntry& run : m_history.runs()) tags << run.tags;
  tags.removeDuplicates();
  tags.sort(Qt::CaseInsensitive);
  m_filterBar->setTags(tags);
  m_notice->setText(m_history.notice());
  m_notice->setVisible(!m_history.notice().isEmpty());
  choosePage();
  showCounts();
  // Somebody who comes here looks for the last one.
  if (first && m_filter->rowCount() > 0 && selected().isEmpty())
    select({m_filter->index(0, 0).data(RunTableModel::PathRole).toString()});
  else
    selectionChanged();
}

void RunsPage::choosePage() {
  m_stack->setCurrentIndex(m_history.runs().empty() && m_queue.runs().empty() ? emptyPage : tablePage);
}

void RunsPage::showCounts() {
  m_filterBar->setCounts(m_filter->rowCount(), m_model->rowCount());
  if (selected().isEmpty()) selectionChanged(); // which may have nothing left to select
}

void RunsPage::selectionChanged() {
  const QStringList runs = selected();
  const RunEntry* run = runs.size() == 1 ? m_history.find(runs.front()) : nullptr;
  m_details->show(run ? *run : RunEntry(), run && run->path == m_history.baseline());
  if (runs.size() > 1)
    m_noDetails->setText(tr("%1 runs are selected: Charts and Settings compare them.").arg(runs.size()));
  else if (m_filter->rowCount() == 0)
    m_noDetails->setText(tr("No run has all that is sought above."));
  else
    m_noDetails->setText(tr("Select a run, or several to compare them."));
  m_detailsStack->setCurrentIndex(run ? 1 : 0);
  const QStringList shown = compared();
  if (shown == m_shown) return;
  m_shown = shown;
  m_settle.start();
}

void RunsPage::compare() {
  m_settings->compare(m_shown);
  drawCharts();
}

/// Runs are read for charts only where somebody sees them.
void RunsPage::drawCharts() {
  if (m_tabs->currentIndex() != ChartsTab) return;
  std::vector<OverlayCharts::Line> lines;
  for (const QString& run : std::as_const(m_shown)) {
    const RunEntry* entry = m_history.find(run);
    if (!entry) continue;
    lines.push_back({run, run == m_history.baseline() ? tr("%1 (baseline)").arg(entry->name) : entry->name});
  }
  m_charts->show(lines);
}

void RunsPage::askBranch(const QString& run) {
  const auto work = [path = toPath(run)] {
    LocalFileSystem files;
    return runInfo(files, path);
  };
  inBackground(this, work, [this, run](const Result<RunInfo>& info) {
    if (!info) return showProblem(toQt(info.error().message));
    if (info->checkpointSteps.empty()) return showProblem(tr("The run has no checkpoint to branch from."));
    QStringList steps;
    for (auto step = info->checkpointSteps.rbegin(); step != info->checkpointSteps.rend(); ++step)
      steps << countText(*step);
    auto* dialog = new QInputDialog(this);
    dialog->setObjectName(QStringLiteral("branchDialog"));
    dialog->setWindowTitle(tr("Branch from %1").arg(toQt(info->name)));
    dialog->setLabelText(
        tr("The new run begins with weights, optimizer and place in the data of the checkpoint of step"));
    dialog->setComboBoxItems(steps);
    dialog->setOkButtonText(tr("&Configure"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &QInputDialog::textValueSelected, this,
            [this, run, steps, all = info->checkpointSteps](const QString& text) {
              const qsizetype chosen = steps.indexOf(text);
              if (chosen < 0) return;
              Q_EMIT branchRequested({toPath(run), all[all.size() - 1 - static_cast<std::size_t>(chosen)]});
            });
    dialog->open();
  });
}

void RunsPage::askDelete(const QString& run) {
  const RunEntry* entry = m_history.find(run);
  if (!entry) return;
  auto* dialog = new DeleteCheckpointsDialog(run, entry->name, entry->outcome == RunOutcome::Finished, this);
  connect(dialog, &DeleteCheckpointsDialog::confirmed, this, [this, run](KeptCheckpoints keep) {
    m_history.deleteCheckpoints(run, keep, [this](const Result<DeletedCheckpoints>& result) {
      if (!result) return m_details->showMessage(toQt(result.error().message));
      const auto count = static_cast<std::int64_t>(result->deleted.size());
      const QString deleted =
          count == 1 ? tr("1 checkpoint is deleted") : tr("%1 checkpoints are deleted").arg(countText(count));
      m_details->showMessage(
          tr("%1, and %2 freed; metrics, samples and notes stay.").arg(deleted, bytesText(result->freed)));
    });
  });
  dialog->open();
}

void RunsPage::showQueue() {
  m_tabs->setCurrentIndex(QueueTab);
}

void RunsPage::showProblem(const QString& message) {
  m_details->showMessage(message);
}

QByteArray RunsPage::saveLayout() const {
  return m_splitter->saveState();
}

void RunsPage::restoreLayout(const QByteArray& state) {
  m_splitter->restoreState(state);
}

} // namespace millrace::ui
