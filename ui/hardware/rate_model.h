// What plans of this machine are predicted from, and where each figure is from. GUI thread.
#pragma once

#include "engine/hardware.h"

#include <QAbstractTableModel>
#include <vector>

namespace millrace::ui {

class RateModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { Subject, Figure, Value, Source, ColumnCount };

  explicit RateModel(QObject* parent = nullptr);

  /// With measured and assumed rates. A rate that cannot be had of a device is no row.
  void setProfile(const HardwareProfile& profile);
  /// Rows that were measured here.
  int measured() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  struct Row {
    QString subject, figure, value, source;
    Rate rate;
  };

  /// missing: told in place of where an unknown rate is from.
  void add(const QString& subject, const QString& figure, const Rate& rate, QString (*text)(double),
           const QString& missing = tr("not measured"));

  std::vector<Row> m_rows;
};

} // namespace millrace::ui
