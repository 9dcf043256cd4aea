// What the tables of a run hold, column by column.
#pragma once

#include "engine/run_event.h"

#include <QStringList>
#include <vector>

namespace millrace::ui {

/// The first three are what charts can be drawn over.
enum class StepColumn {
  Step,
  Tokens,
  Time, ///< seconds since 1970
  Loss,
  GradNorm,
  LearningRate,
  TokensPerSecond,
  Seconds,
  BoundSeconds,
  LinkIn, ///< percent of what the link was measured at; of the step's time that it was busy, where it was not measured
  LinkOut,
  DeviceBytes,
  HostBytes,
  PlannedDevice,
  PlannedHost,
  StallWeights, ///< percent of the step, as are the next
  StallOptimizer,
  StallCopyOut,
  StallData,
  GpuUtilization, ///< percent, as its driver tells
  GpuPower,       ///< watts
  GpuTemperature, ///< degrees Celsius
  Count,
};

enum class EvaluationColumn { Step, Tokens, Time, Loss, Perplexity, BitsPerByte, Count };

/// Headings, as they stand in exported files.
QStringList stepColumnNames();
QStringList evaluationColumnNames();

/// A row each. What is not known is NaN.
std::vector<double> rowOf(const StepMetrics& metrics);
std::vector<double> rowOf(const Evaluation& evaluation, std::int64_t step, std::int64_t tokens, double time);

} // namespace millrace::ui
