#include "runs/difference_model.h"

#include "bridge/text.h"

namespace millrace::ui {

namespace {

QString valueText(const std::optional<Json>& value) {
  if (!value) return DifferenceModel::tr("not set");
  if (value->is_string()) return toQt(value->get<std::string>());
  return toQt(value->dump(-1, ' ', false, Json::error_handler_t::replace));
}

} // namespace

void DifferenceModel::setDifferences(const QStringList& names, std::vector<SettingDifference> differences) {
  beginResetModel();
  m_names = names;
  m_differences = std::move(differences);
  endResetModel();
}

int DifferenceModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(m_differences.size());
}

int DifferenceModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : 1 + static_cast<int>(m_names.size());
}

QVariant DifferenceModel::data(const QModelIndex& index, int role) const {
  if (!checkIndex(index, CheckIndexOption::IndexIsValid)) return {};
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const SettingDifference& difference = m_differences[static_cast<std::size_t>(index.row())];
  if (index.column() == 0) return toQt(difference.key);
  const auto run = static_cast<std::size_t>(index.column() - 1);
  return run < difference.values.size() ? valueText(difference.values[run]) : QString();
}

QVariant DifferenceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || (role != Qt::DisplayRole && role != Qt::ToolTipRole)) return {};
  return section == 0 ? tr("Setting") : m_names.value(section - 1);
}

} // namespace millrace::ui
