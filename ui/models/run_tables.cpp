#include "models/run_tables.h"

#include "models/run_columns.h"

namespace millrace::ui {

RunTables::RunTables(const QString& cacheFolder)
    : m_steps(std::make_shared<MetricTable>(stepColumnNames(), cacheFolder)),
      m_evaluations(std::make_shared<MetricTable>(evaluationColumnNames(), cacheFolder)) {}

bool RunTables::add(const StepMetrics& metrics) {
  const bool repeats = m_last && metrics.step <= m_last->step;
  if (repeats) {
    flush();
    m_steps->truncateFrom(static_cast<double>(metrics.step));
    m_evaluations->truncateFrom(static_cast<double>(metrics.step));
  }
  // Both tables count time from the run's first step.
  if (!m_last) m_evaluations->setTimeOrigin(metrics.time);
  m_last = metrics;
  const auto row = rowOf(metrics);
  m_newSteps.insert(m_newSteps.end(), row.begin(), row.end());
  return repeats;
}

void RunTables::add(const Evaluation& evaluation, std::int64_t step, double time) {
  const auto row = rowOf(evaluation, step, m_last ? m_last->tokensTotal : 0, time);
  m_newEvaluations.insert(m_newEvaluations.end(), row.begin(), row.end());
}

void RunTables::flush() {
  if (!m_newSteps.empty()) m_steps->appendRows(m_newSteps);
  if (!m_newEvaluations.empty()) m_evaluations->appendRows(m_newEvaluations);
  m_newSteps.clear();
  m_newEvaluations.clear();
}

} // namespace millrace::ui
