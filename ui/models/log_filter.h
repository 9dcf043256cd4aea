// LogFilter: the lines of a LogModel that are at least so grave and hold a text.
#pragma once

#include "engine/run_event.h"

#include <QSortFilterProxyModel>

namespace millrace::ui {

class LogFilter final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  using QSortFilterProxyModel::QSortFilterProxyModel;

  void setLeastSeverity(Severity severity);
  /// Letter case does not matter; empty: all.
  void setText(const QString& text);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

 private:
  Severity m_least = Severity::Info;
  QString m_text;
};

} // namespace millrace::ui
