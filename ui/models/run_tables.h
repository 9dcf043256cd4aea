// RunTables: the numbers of one run as its events tell them, ready for charts: a table of its steps and one of its
// evaluations. GUI thread.
#pragma once

#include "charts/metric_table.h"
#include "engine/run_event.h"

#include <memory>
#include <optional>
#include <vector>

namespace millrace::ui {

class RunTables {
 public:
  /// cacheFolder: see MetricTable.
  explicit RunTables(const QString& cacheFolder);

  std::shared_ptr<MetricTable> steps() const { return m_steps; }             ///< columns of StepColumn
  std::shared_ptr<MetricTable> evaluations() const { return m_evaluations; } ///< columns of EvaluationColumn
  const std::optional<StepMetrics>& last() const { return m_last; }

  /// In the order of the events; in the tables after flush(). A step that is not above the last is of a resumed run,
  /// which repeats what came after its checkpoint: what it repeats is forgotten. True then.
  bool add(const StepMetrics& metrics);
  void add(const Evaluation& evaluation, std::int64_t step, double time);
  void flush();

 private:
  const std::shared_ptr<MetricTable> m_steps, m_evaluations;
  std::optional<StepMetrics> m_last;
  std::vector<double> m_newSteps, m_newEvaluations; ///< rows that the tables have not got yet
};

} // namespace millrace::ui
