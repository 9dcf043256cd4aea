#include "models/log_model.h"

#include <QDateTime>
#include <QLocale>
#include <algorithm>

namespace millrace::ui {

LogModel::LogModel(QObject* parent, int capacity) : QAbstractTableModel(parent), m_capacity(capacity) {}

void LogModel::append(std::vector<Line> lines) {
  const auto capacity = static_cast<std::size_t>(m_capacity);
  if (lines.size() > capacity) lines.erase(lines.begin(), lines.end() - m_capacity);
  if (lines.empty()) return;
  // Some at a time: views that are open renumber their rows for each removal.
  if (m_lines.size() + lines.size() > capacity) {
    const std::size_t over = m_lines.size() + lines.size() - capacity;
    const std::size_t gone = std::min(m_lines.size(), std::max(over, capacity / 10));
    beginRemoveRows({}, 0, static_cast<int>(gone) - 1);
    m_lines.erase(m_lines.begin(), m_lines.begin() + static_cast<std::ptrdiff_t>(gone));
    endRemoveRows();
  }
  const auto first = static_cast<int>(m_lines.size());
  beginInsertRows({}, first, first + static_cast<int>(lines.size()) - 1);
  std::move(lines.begin(), lines.end(), std::back_inserter(m_lines));
  endInsertRows();
}

void LogModel::clear() {
  beginResetModel();
  m_lines.clear();
  endResetModel();
}

int LogModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_lines.size());
}

int LogModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : ColumnCount;
}

QVariant LogModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Line& line = m_lines[static_cast<std::size_t>(index.row())];
  if (role == SeverityRole) return static_cast<int>(line.severity);
  if (role == Qt::ToolTipRole && index.column() == MessageColumn) return line.message;
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
  case TimeColumn:
    return QLocale().toString(QDateTime::fromMSecsSinceEpoch(static_cast<qint64>(line.time * 1000)),
                              QStringLiteral("yyyy-MM-dd HH:mm:ss"));
  case LevelColumn:
    return severityName(line.severity);
  case MessageColumn:
    return line.message;
  default:
    return {};
  }
}

QVariant LogModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  switch (section) {
  case TimeColumn:
    return tr("Time");
  case LevelColumn:
    return tr("Level");
  case MessageColumn:
    return tr("Message");
  default:
    return {};
  }
}

QString severityName(Severity severity) {
  switch (severity) {
  case Severity::Debug:
    return LogModel::tr("Debug");
  case Severity::Info:
    return LogModel::tr("Info");
  case Severity::Warning:
    return LogModel::tr("Warning");
  case Severity::Error:
    return LogModel::tr("Error");
  }
  return {};
}

} // namespace millrace::ui
