#include "models/sample_model.h"

#include <QLocale>

namespace millrace::ui {

SampleModel::SampleModel(QObject* parent, int capacity) : QAbstractListModel(parent), m_capacity(capacity) {}

void SampleModel::append(std::int64_t step, const Sample& sample) {
  Entry entry{step, QString::fromStdString(sample.prompt), QString::fromStdString(sample.text)};
  // A resumed run draws the samples of steps that it repeats once more, and they are the same.
  for (const Entry& known : m_entries) {
    if (known.step < entry.step) break;
    if (known.step == entry.step && known.prompt == entry.prompt && known.text == entry.text) return;
  }
  if (static_cast<int>(m_entries.size()) == m_capacity) {
    beginRemoveRows({}, m_capacity - 1, m_capacity - 1);
    m_entries.pop_back();
    endRemoveRows();
  }
  beginInsertRows({}, 0, 0);
  m_entries.push_front(std::move(entry));
  endInsertRows();
}

void SampleModel::clear() {
  beginResetModel();
  m_entries.clear();
  endResetModel();
}

int SampleModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_entries.size());
}

QVariant SampleModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  const Entry& entry = m_entries[static_cast<std::size_t>(index.row())];
  switch (role) {
  case Qt::DisplayRole:
    return tr("Step %1: %2").arg(QLocale().toString(entry.step), (entry.prompt + entry.text).simplified());
  case StepRole:
    return entry.step;
  case PromptRole:
    return entry.prompt;
  case TextRole:
    return entry.text;
  default:
    return {};
  }
}

} // namespace millrace::ui
