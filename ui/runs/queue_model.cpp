#include "runs/queue_model.h"

#include "bridge/text.h"
#include "style/numbers.h"
#include "style/status_colors.h"

#include <QGuiApplication>
#include <algorithm>

namespace millrace::ui {

namespace {

QString stateText(const QueuedRun& run) {
  switch (run.state) {
  case QueuedRun::State::Waiting:
    return QueueModel::tr("Waits");
  case QueuedRun::State::Running:
    return QueueModel::tr("At work");
  case QueuedRun::State::Failed:
    break;
  }
  return run.message.isEmpty() ? QueueModel::tr("Failed") : QueueModel::tr("Failed: %1").arg(run.message);
}

} // namespace

QueueModel::QueueModel(const RunQueue& queue, QObject* parent) : QAbstractTableModel(parent), m_runs(queue.runs()) {
  connect(&queue, &RunQueue::changed, this, [this, &queue] {
    if (m_runs == queue.runs()) return;
    beginResetModel();
    m_runs = queue.runs();
    endResetModel();
  });
}

int QueueModel::rowOf(qint64 id) const {
  const auto found = std::find_if(m_runs.begin(), m_runs.end(), [&](const QueuedRun& run) { return run.id == id; });
  return found == m_runs.end() ? -1 : static_cast<int>(found - m_runs.begin());
}

int QueueModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_runs.size());
}

int QueueModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : ColumnCount;
}

QVariant QueueModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const QueuedRun& run = m_runs[static_cast<std::size_t>(index.row())];
  const int column = index.column();
  switch (role) {
  case IdRole:
    return run.id;
  case Qt::DisplayRole:
  case Qt::ToolTipRole:
    if (column == TitleColumn) return run.title;
    if (column == StateColumn) return stateText(run);
    if (run.kind == QueuedRun::Kind::Resume) return tr("Goes on with %1").arg(run.run);
    return run.branch ? tr("Branches at step %1 from %2").arg(countText(run.branch->step), toQt(run.branch->run))
                      : tr("A new run of %1").arg(run.source);
  case Qt::DecorationRole:
    if (column == StateColumn && run.state == QueuedRun::State::Failed)
      return statusIcon(StatusKind::Bad, QGuiApplication::palette());
    return {};
  default:
    return {};
  }
}

QVariant QueueModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
  case TitleColumn:
    return tr("Name");
  case WhatColumn:
    return tr("What");
  case StateColumn:
    return tr("State");
  default:
    return {};
  }
}

} // namespace millrace::ui
