// LogModel: what a run has said, newest last; bounded, the oldest goes first. GUI thread.
#pragma once

#include "engine/run_event.h"

#include <QAbstractTableModel>
#include <deque>

namespace millrace::ui {

class LogModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { TimeColumn, LevelColumn, MessageColumn, ColumnCount };
  enum Role { SeverityRole = Qt::UserRole };

  struct Line {
    double time = 0; ///< seconds since 1970
    Severity severity = Severity::Info;
    QString message;
  };

  explicit LogModel(QObject* parent = nullptr, int capacity = 20'000);

  /// In order of time.
  void append(std::vector<Line> lines);
  void clear();
  const Line& line(int row) const { return m_lines[static_cast<std::size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const int m_capacity;
  std::deque<Line> m_lines;
};

/// "Info", ... for people.
QString severityName(Severity severity);

} // namespace millrace::ui
