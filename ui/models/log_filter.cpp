#include "models/log_filter.h"

#include "models/log_model.h"

namespace millrace::ui {

void LogFilter::setLeastSeverity(Severity severity) {
  m_least = severity;
  invalidateFilter();
}

void LogFilter::setText(const QString& text) {
  m_text = text;
  invalidateFilter();
}

bool LogFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
  const QAbstractItemModel& model = *sourceModel();
  const QModelIndex message = model.index(row, LogModel::MessageColumn, parent);
  if (model.data(message, LogModel::SeverityRole).toInt() < static_cast<int>(m_least)) return false;
  return m_text.isEmpty() || model.data(message, Qt::DisplayRole).toString().contains(m_text, Qt::CaseInsensitive);
}

} // namespace millrace::ui
