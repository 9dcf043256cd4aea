// A column's exponential moving average, free of the bias of its start, over every row (never over what is drawn), with
// a pyramid of its own. It follows its table by recomputeSome(), a slice at a time. Owned by the chart that shows it.
//
// The smoothing is the weight of what came before, per row, as TensorBoard and W&B have it: the same number gives the
// same curve there. halfLife() puts it in rows for people.
#pragma once

#include "charts/metric_table.h"

namespace millrace::ui {

/// Rows after which a value counts half.
double halfLife(double weight);

class SmoothedColumn {
 public:
  static constexpr double maxWeight = 0.999;

  /// weight: 0 to maxWeight.
  SmoothedColumn(std::shared_ptr<const MetricTable> table, int column, double weight);

  /// The old curve stays until the new one is as long: recomputeSome() makes it.
  void setWeight(double weight);
  double weight() const { return m_next ? m_next->weight : m_shown.weight; }

  /// Takes in at most `rows` rows of the table, less by how many it took, and forgets what the table has forgotten;
  /// true once nothing is left.
  bool recomputeSome(std::int64_t& rows);

  /// Values that are not finite leave the average as it was; before the first finite one it is NaN.
  std::int64_t rows() const { return m_shown.values.rows(); }
  ColumnView values() const { return {m_shown.values, 0}; }
  const MinMaxPyramid& pyramid() const { return m_shown.pyramid; }

 private:
  struct Curve {
    Curve(double weightOfCurve, const QString& folder) : weight(weightOfCurve), values(1, folder) {}

    double weight;
    ColumnFile values;
    MinMaxPyramid pyramid;
    double average = 0;
    double remaining = 1; ///< weight to the power of how many finite values there were
    bool full = false;    ///< no memory for more
  };

  void follow();
  void cut(Curve& curve, std::int64_t rows);
  void extend(Curve& curve, std::int64_t& rows);
  bool isComplete(const Curve& curve) const { return curve.full || curve.values.rows() >= m_table->rows(); }

  const std::shared_ptr<const MetricTable> m_table;
  const int m_column;
  Curve m_shown;
  std::optional<Curve> m_next;
  std::size_t m_truncationsSeen;
};

} // namespace millrace::ui
