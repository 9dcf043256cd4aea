// DifferenceModel: settings that compared runs do not share, a row each, a column for every run. GUI thread.
#pragma once

#include "engine/run_compare.h"

#include <QAbstractTableModel>
#include <QStringList>
#include <vector>

namespace millrace::ui {

class DifferenceModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  using QAbstractTableModel::QAbstractTableModel;

  /// names: of the runs, in the order of the values of each.
  void setDifferences(const QStringList& names, std::vector<SettingDifference> differences);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QStringList m_names;
  std::vector<SettingDifference> m_differences;
};

} // namespace millrace::ui
