#include "charts/smoothed_column.h"

#include "charts/drawable.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace millrace::ui {

namespace {

/// Below this 1 - remaining is 1.
constexpr double nothing = 1e-18;

} // namespace

double halfLife(double weight) {
  return weight > 0 ? std::log(0.5) / std::log(weight) : 0;
}

SmoothedColumn::SmoothedColumn(std::shared_ptr<const MetricTable> table, int column, double weight)
    : m_table(std::move(table)),
      m_column(column),
      m_shown(std::clamp(weight, 0.0, maxWeight), m_table->cacheFolder()),
      m_truncationsSeen(m_table->truncations().size()) {}

void SmoothedColumn::setWeight(double weight) {
  weight = std::clamp(weight, 0.0, maxWeight);
  if (weight == this->weight()) return;
  m_next.reset();
  if (weight != m_shown.weight) m_next.emplace(weight, m_table->cacheFolder());
}

bool SmoothedColumn::recomputeSome(std::int64_t& rows) {
  follow();
  if (m_next) {
    extend(*m_next, rows);
    if (!isComplete(*m_next)) return false;
    m_shown = std::move(*m_next);
    m_next.reset();
  }
  extend(m_shown, rows);
  return isComplete(m_shown);
}

void SmoothedColumn::follow() {
  const std::vector<std::int64_t>& truncations = m_table->truncations();
  if (m_truncationsSeen == truncations.size()) return;
  const auto unseen = truncations.begin() + static_cast<std::ptrdiff_t>(m_truncationsSeen);
  const std::int64_t left = *std::min_element(unseen, truncations.end());
  m_truncationsSeen = truncations.size();
  cut(m_shown, left);
  if (m_next) cut(*m_next, left);
}

void SmoothedColumn::cut(Curve& curve, std::int64_t rows) {
  if (rows >= curve.values.rows()) return;
  curve.values.truncate(rows);
  curve.pyramid.truncate(rows);
  curve.full = false;
  curve.average = rows > 0 ? curve.values.value(0, rows - 1) : 0;
  const std::int64_t finite = rows - m_table->pyramid(m_column).extent(m_table->column(m_column), 0, rows).notFinite();
  if (finite == 0) curve.average = 0;
  // Multiplied as extend() does, so that the curve goes on with the same bits.
  curve.remaining = 1;
  for (std::int64_t value = 0; value < finite && curve.remaining > 0; ++value) {
    curve.remaining *= curve.weight;
    if (curve.remaining < nothing) curve.remaining = 0;
  }
}

void SmoothedColumn::extend(Curve& curve, std::int64_t& rows) {
  const ColumnView raw = m_table->column(m_column);
  const std::int64_t begin = curve.values.rows();
  const std::int64_t end = begin + std::min(rows, m_table->rows() - begin);
  std::array<double, 1024> batch;
  double share = 1 - curve.weight;
  for (std::int64_t row = begin; row < end && !curve.full;) {
    const std::int64_t count = std::min<std::int64_t>(end - row, static_cast<std::int64_t>(batch.size()));
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = raw[row + i];
      if (isDrawable(value)) {
        if (curve.remaining > 0) {
          curve.remaining *= curve.weight;
          if (curve.remaining < nothing) curve.remaining = 0;
          // The average of n values with weights w^(n-i), as a step from the average before.
          share = (1 - curve.weight) / (1 - curve.remaining);
        }
        curve.average += share * (value - curve.average);
      }
      const bool any = curve.remaining < 1;
      batch[static_cast<std::size_t>(i)] = any ? curve.average : std::numeric_limits<double>::quiet_NaN();
    }
    curve.full = !curve.values.append(std::span(batch).first(static_cast<std::size_t>(count)));
    row += count;
  }
  curve.pyramid.extend({curve.values, 0}, curve.values.rows());
  rows -= end - begin;
}

} // namespace millrace::ui
