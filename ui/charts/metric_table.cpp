#include "charts/metric_table.h"

#include <array>
#include <cassert>
#include <cmath>

namespace millrace::ui {

namespace {

constexpr int stepColumn = static_cast<int>(XAxisKind::Step);
constexpr int timeColumn = static_cast<int>(XAxisKind::Time);
constexpr int xColumns = 3;

template <class IsBefore>
std::int64_t partitionPoint(std::int64_t rows, const IsBefore& isBefore) {
  std::int64_t begin = 0, end = rows;
  while (begin < end) {
    const std::int64_t middle = begin + (end - begin) / 2;
    if (isBefore(middle))
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

} // namespace

MetricTable::MetricTable(QStringList names, QString cacheFolder, QObject* parent)
    : QObject(parent),
      m_names(std::move(names)),
      m_cacheFolder(std::move(cacheFolder)),
      m_columns(static_cast<int>(m_names.size()), m_cacheFolder),
      m_pyramids(static_cast<std::size_t>(m_names.size())) {
  assert(m_names.size() >= xColumns);
}

Result<void> MetricTable::appendRows(std::span<const double> values) {
  const auto width = static_cast<std::size_t>(columns());
  assert(values.size() % width == 0);
  if (values.empty()) return {};
  Result<void> result;
  // A batch can hold the last steps before a run went back and the first ones after.
  while (!values.empty() && result) {
    double last = values[stepColumn];
    std::size_t end = width;
    for (; end < values.size() && !(values[end + stepColumn] < last); end += width)
      if (values[end + stepColumn] > last) last = values[end + stepColumn];
    if (rows() > 0 && values[stepColumn] < value(stepColumn, rows() - 1)) {
      const double step = values[stepColumn];
      cut(lowerBound(XAxisKind::Step, step));
    }
    result = appendRising(values.first(end));
    values = values.subspan(end);
  }
  Q_EMIT changed();
  return result;
}

/// Of a batch whose steps do not fall.
Result<void> MetricTable::appendRising(std::span<const double> values) {
  const auto width = static_cast<std::size_t>(columns());
  std::array<double, xColumns> last;
  last.fill(-std::numeric_limits<double>::infinity());
  if (rows() > 0)
    for (int column = 0; column < xColumns; ++column)
      last[static_cast<std::size_t>(column)] = value(column, rows() - 1);
  m_repaired.clear();
  for (std::size_t row = 0; row < values.size(); row += width) {
    for (std::size_t column = 0; column < xColumns; ++column) {
      const std::vector<double>& mended = m_repaired;
      const double x = mended.empty() ? values[row + column] : mended[row + column];
      if (x >= last[column] && std::isfinite(x)) {
        last[column] = x;
        continue;
      }
      if (m_repaired.empty()) m_repaired.assign(values.begin(), values.end());
      if (!std::isfinite(last[column])) last[column] = 0;
      m_repaired[row + column] = last[column];
    }
  }
  const auto result = m_columns.append(m_repaired.empty() ? values : std::span<const double>(m_repaired));
  for (int column = 0; column < columns(); ++column)
    if (const auto& pyramid = m_pyramids[static_cast<std::size_t>(column)])
      pyramid->extend(this->column(column), rows());
  return result;
}

void MetricTable::truncateFrom(double step) {
  const std::int64_t left = lowerBound(XAxisKind::Step, step);
  if (left == rows()) return;
  cut(left);
  Q_EMIT changed();
}

void MetricTable::cut(std::int64_t rows) {
  m_columns.truncate(rows);
  for (const auto& pyramid : m_pyramids)
    if (pyramid) pyramid->truncate(rows);
  m_truncations.push_back(rows);
}

void MetricTable::setTimeOrigin(double seconds) {
  if (m_timeOrigin == seconds) return;
  m_timeOrigin = seconds;
  Q_EMIT changed();
}

XValues MetricTable::x(XAxisKind kind) const {
  double origin = 0;
  if (kind == XAxisKind::Time) origin = m_timeOrigin ? *m_timeOrigin : rows() > 0 ? value(timeColumn, 0) : 0;
  return {column(static_cast<int>(kind)), origin};
}

std::int64_t MetricTable::lowerBound(XAxisKind kind, double x) const {
  const XValues values = this->x(kind);
  return partitionPoint(rows(), [&](std::int64_t row) { return values[row] < x; });
}

std::int64_t MetricTable::upperBound(XAxisKind kind, double x) const {
  const XValues values = this->x(kind);
  return partitionPoint(rows(), [&](std::int64_t row) { return values[row] <= x; });
}

std::int64_t MetricTable::nearestRow(XAxisKind kind, double x) const {
  const std::int64_t after = upperBound(kind, x);
  if (after == 0) return rows() > 0 ? 0 : -1;
  if (after == rows()) return rows() - 1;
  const XValues values = this->x(kind);
  return values[after] - x < x - values[after - 1] ? after : after - 1;
}

const MinMaxPyramid& MetricTable::pyramid(int column) const {
  auto& pyramid = m_pyramids[static_cast<std::size_t>(column)];
  if (!pyramid) {
    pyramid = std::make_unique<MinMaxPyramid>();
    pyramid->extend(this->column(column), rows());
  }
  return *pyramid;
}

std::int64_t MetricTable::pyramidBytes() const {
  std::int64_t bytes = 0;
  for (const auto& pyramid : m_pyramids)
    if (pyramid) bytes += pyramid->memoryBytes();
  return bytes;
}

} // namespace millrace::ui
