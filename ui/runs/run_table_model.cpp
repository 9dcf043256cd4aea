#include "runs/run_table_model.h"

#include "style/numbers.h"

#include <QDateTime>
#include <QGuiApplication>
#include <QHash>
#include <QLocale>
#include <algorithm>
#include <limits>

namespace millrace::ui {

namespace {

const QString nothing = QStringLiteral("–");

QString timeText(double seconds) {
  if (!(seconds > 0)) return nothing;
  return QLocale().toString(QDateTime::fromSecsSinceEpoch(static_cast<qint64>(seconds)), QLocale::ShortFormat);
}

/// What is not known comes last, whichever way numbers rise.
QVariant orLast(const std::optional<double>& value) {
  return value && *value == *value ? *value : std::numeric_limits<double>::infinity();
}

} // namespace

StatusKind statusOf(const RunEntry& run) {
  if (!run.present) return StatusKind::Unknown;
  switch (run.outcome) {
  case RunOutcome::Finished:
    return StatusKind::Good;
  case RunOutcome::Interrupted:
    return StatusKind::Warning;
  case RunOutcome::Failed:
    return StatusKind::Bad;
  case RunOutcome::Live:
    break;
  }
  return StatusKind::Unknown;
}

QString outcomeText(const RunEntry& run) {
  if (!run.present) return RunTableModel::tr("Gone");
  switch (run.outcome) {
  case RunOutcome::Live:
    return RunTableModel::tr("At work");
  case RunOutcome::Finished:
    return RunTableModel::tr("Finished");
  case RunOutcome::Interrupted:
    return RunTableModel::tr("Interrupted");
  case RunOutcome::Failed:
    break;
  }
  return RunTableModel::tr("Failed");
}

void RunTableModel::setRuns(const std::vector<RunEntry>& runs) {
  QHash<QString, const RunEntry*> wanted;
  for (const RunEntry& run : runs) wanted.insert(run.path, &run);
  for (int row = rowCount() - 1; row >= 0; --row) {
    if (wanted.contains(run(row).path)) continue;
    beginRemoveRows({}, row, row);
    m_runs.erase(m_runs.begin() + row);
    endRemoveRows();
  }
  for (int row = 0; row < rowCount(); ++row) {
    const RunEntry* now = wanted.take(run(row).path);
    if (*now == run(row)) continue;
    m_runs[static_cast<std::size_t>(row)] = *now;
    Q_EMIT dataChanged(index(row, 0), index(row, ColumnCount - 1));
  }
  if (wanted.isEmpty()) return;
  beginInsertRows({}, rowCount(), rowCount() + static_cast<int>(wanted.size()) - 1);
  for (const RunEntry& run : runs)
    if (wanted.contains(run.path)) m_runs.push_back(run);
  endInsertRows();
}

void RunTableModel::setBaseline(const QString& run) {
  if (run == m_baseline) return;
  const int rows[] = {rowOf(m_baseline), rowOf(run)};
  m_baseline = run;
  for (const int row : rows)
    if (row >= 0) Q_EMIT dataChanged(index(row, NameColumn), index(row, NameColumn));
}

int RunTableModel::rowOf(const QString& path) const {
  const auto found = std::find_if(m_runs.begin(), m_runs.end(), [&](const RunEntry& run) { return run.path == path; });
  return found == m_runs.end() ? -1 : static_cast<int>(found - m_runs.begin());
}

int RunTableModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_runs.size());
}

int RunTableModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : ColumnCount;
}

QString RunTableModel::text(const RunEntry& run, int column) const {
  switch (column) {
  case NameColumn:
    return run.path == m_baseline ? tr("%1 (baseline)").arg(run.name) : run.name;
  case OutcomeColumn:
    return outcomeText(run);
  case ProgressColumn:
    if (run.step == 0) return nothing;
    return run.totalSteps > 0 ? tr("%1 of %2").arg(countText(run.step), countText(run.totalSteps))
                              : countText(run.step);
  case LossColumn:
    return run.loss ? numberText(*run.loss) : nothing;
  case ValidationColumn:
    return run.validation ? numberText(*run.validation) : nothing;
  case SpeedColumn:
    return run.tokensPerSecond ? shortCountText(*run.tokensPerSecond) : nothing;
  case BeganColumn:
    return timeText(run.began);
  case ChangedColumn:
    return timeText(run.changed);
  case CheckpointsColumn:
    return run.checkpoints > 0 ? bytesText(run.checkpointBytes) : nothing;
  case TagsColumn:
    return run.tags.join(QStringLiteral(", "));
  case ModelColumn:
    return run.model;
  case FolderColumn:
    return run.path;
  default:
    return {};
  }
}

QVariant RunTableModel::sortValue(const RunEntry& run, int column) const {
  switch (column) {
  case ProgressColumn:
    return run.step;
  case LossColumn:
    return orLast(run.loss);
  case ValidationColumn:
    return orLast(run.validation);
  case SpeedColumn:
    return run.tokensPerSecond.value_or(0);
  case BeganColumn:
    return run.began;
  case ChangedColumn:
    return run.changed;
  case CheckpointsColumn:
    return run.checkpointBytes;
  default:
    return text(run, column).toCaseFolded();
  }
}

QVariant RunTableModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const RunEntry& run = this->run(index.row());
  const int column = index.column();
  switch (role) {
  case Qt::DisplayRole:
    return text(run, column);
  case Qt::ToolTipRole:
    if (column == OutcomeColumn && !run.reason.isEmpty()) return run.reason;
    return column == NameColumn ? run.path : text(run, column);
  case Qt::DecorationRole:
    if (column != OutcomeColumn || run.isLive()) return {};
    return statusIcon(statusOf(run), QGuiApplication::palette());
  case Qt::TextAlignmentRole:
    return column >= ProgressColumn && column <= SpeedColumn ? QVariant(Qt::AlignRight | Qt::AlignVCenter) : QVariant();
  case SortRole:
    return sortValue(run, column);
  case PathRole:
    return run.path;
  default:
    return {};
  }
}

QVariant RunTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::ToolTipRole) {
    if (section == LossColumn) return tr("Training loss of the last step");
    if (section == ValidationColumn) return tr("The lowest validation loss");
    if (section == ChangedColumn) return tr("The last sign of life");
    return {};
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
  case NameColumn:
    return tr("Run");
  case OutcomeColumn:
    return tr("State");
  case ProgressColumn:
    return tr("Steps");
  case LossColumn:
    return tr("Loss");
  case ValidationColumn:
    return tr("Validation");
  case SpeedColumn:
    return tr("Tokens/s");
  case BeganColumn:
    return tr("Began");
  case ChangedColumn:
    return tr("Last heard of");
  case CheckpointsColumn:
    return tr("Checkpoints");
  case TagsColumn:
    return tr("Tags");
  case ModelColumn:
    return tr("Model");
  case FolderColumn:
    return tr("Folder");
  default:
    return {};
  }
}

} // namespace millrace::ui
