// QueueModel: the runs of a RunQueue as rows, in its order. GUI thread.
#pragma once

#include "runs/run_queue.h"

#include <QAbstractTableModel>

namespace millrace::ui {

class QueueModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { TitleColumn, WhatColumn, StateColumn, ColumnCount };
  enum Role { IdRole = Qt::UserRole };

  /// queue: outlives it.
  explicit QueueModel(const RunQueue& queue, QObject* parent = nullptr);

  int rowOf(qint64 id) const; ///< -1: none

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<QueuedRun> m_runs; ///< as they are shown
};

} // namespace millrace::ui
