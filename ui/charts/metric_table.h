// The numbers of one run: named columns, of which the first three are step, tokens and time (seconds) and never fall
// from one row to the next, so that rows are found by any of them in O(log rows). Shared between whoever fills it and
// the charts that show it. GUI thread.
#pragma once

#include "charts/column_file.h"
#include "charts/min_max_pyramid.h"

#include <QObject>
#include <QStringList>
#include <memory>
#include <optional>

namespace millrace::ui {

/// What charts can be drawn over: the table's first columns, in their order.
enum class XAxisKind { Step, Tokens, Time };

/// One of the first columns as charts show it: seconds become the time since the run began.
struct XValues {
  ColumnView values;
  double origin = 0;

  double operator[](std::int64_t row) const { return values[row] - origin; }
};

class MetricTable final : public QObject {
  Q_OBJECT

 public:
  /// names: all of them, the first three included. cacheFolder: where many rows go; see ColumnFile.
  explicit MetricTable(QStringList names, QString cacheFolder = {}, QObject* parent = nullptr);

  const QStringList& names() const { return m_names; }
  int columns() const { return m_columns.columns(); }
  const QString& cacheFolder() const { return m_cacheFolder; }
  std::int64_t rows() const { return m_columns.rows(); }
  double value(int column, std::int64_t row) const { return m_columns.value(column, row); }
  ColumnView column(int column) const { return {m_columns, column}; }

  /// Adds whole rows, one after the other. A step that is lower than the last means that the run went back there: the
  /// rows from it on are forgotten first. Tokens and times that fall all the same, or are not numbers, are set to the
  /// ones before: clocks are put back at times. DoesNotFit when there is no memory; what is there stays good.
  Result<void> appendRows(std::span<const double> values);
  /// Forgets all rows whose step is `step` or later.
  void truncateFrom(double step);
  /// The numbers of rows that were left each time some were forgotten, for whoever derives columns.
  const std::vector<std::int64_t>& truncations() const { return m_truncations; }

  /// Times are shown as elapsed since this (seconds), else since the first row: tables of one run want the same.
  void setTimeOrigin(double seconds);

  XValues x(XAxisKind kind) const;
  /// First row whose x is `x` or more; rows() if there is none.
  std::int64_t lowerBound(XAxisKind kind, double x) const;
  /// First row whose x is more than `x`; rows() if there is none.
  std::int64_t upperBound(XAxisKind kind, double x) const;
  /// Row whose x is nearest, the last of equals; -1 if there are no rows.
  std::int64_t nearestRow(XAxisKind kind, double x) const;

  /// Made when first asked for, kept up to date from then on: most columns are never shown.
  const MinMaxPyramid& pyramid(int column) const;
  std::int64_t pyramidBytes() const;

  /// Why rows are kept in memory though a folder was given; empty when they are not.
  const QString& notice() const { return m_columns.notice(); }

 Q_SIGNALS:
  void changed();

 private:
  void cut(std::int64_t rows);
  Result<void> appendRising(std::span<const double> values);

  const QStringList m_names;
  const QString m_cacheFolder;
  ColumnFile m_columns;
  std::optional<double> m_timeOrigin;
  std::vector<std::int64_t> m_truncations;
  std::vector<double> m_repaired; ///< a batch that had to be mended
  mutable std::vector<std::unique_ptr<MinMaxPyramid>> m_pyramids;
};

} // namespace millrace::ui
