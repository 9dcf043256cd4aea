// RunTableModel: the runs of a history as rows; changes as the history does, and keeps rows where their runs stay. GUI
// thread.
#pragma once

#include "runs/run_entry.h"
#include "style/status_colors.h"

#include <QAbstractTableModel>
#include <vector>

namespace millrace::ui {

/// "Interrupted", ... for people; of a run that is gone, that.
QString outcomeText(const RunEntry& run);
StatusKind statusOf(const RunEntry& run);

class RunTableModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    NameColumn,
    OutcomeColumn,
    ProgressColumn,
    LossColumn,
    ValidationColumn,
    SpeedColumn,
    BeganColumn,
    ChangedColumn,
    CheckpointsColumn,
    TagsColumn,
    ModelColumn,
    FolderColumn,
    ColumnCount
  };
  enum Role { SortRole = Qt::UserRole, PathRole };

  using QAbstractTableModel::QAbstractTableModel;

  void setRuns(const std::vector<RunEntry>& runs);
  /// Path of the run that is marked; empty: none.
  void setBaseline(const QString& run);

  const RunEntry& run(int row) const { return m_runs[static_cast<std::size_t>(row)]; }
  int rowOf(const QString& path) const; ///< -1: none

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  QString text(const RunEntry& run, int column) const;
  QVariant sortValue(const RunEntry& run, int column) const;

  std::vector<RunEntry> m_runs;
  QString m_baseline;
};

} // namespace millrace::ui
