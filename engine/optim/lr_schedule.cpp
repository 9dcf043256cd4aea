#include "optim/lr_schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace millrace {

namespace {

/// Where a step is between the last step at the peak (0) and the last step of all (1).
double progress(std::int64_t step, std::int64_t peakStep, std::int64_t totalSteps) {
  if (totalSteps <= peakStep) return step > peakStep ? 1.0 : 0.0;
  return std::clamp(static_cast<double>(step - peakStep) / static_cast<double>(totalSteps - peakStep), 0.0, 1.0);
}

} // namespace

std::string_view toString(LrScheduleKind kind) {
  switch (kind) {
  case LrScheduleKind::Constant:
    return "constant";
  case LrScheduleKind::Linear:
    return "linear";
  case LrScheduleKind::Cosine:
    return "cosine";
  case LrScheduleKind::Wsd:
    return "wsd";
  }
  return "unknown";
}

std::optional<LrScheduleKind> lrScheduleKindFrom(std::string_view name) {
  for (const LrScheduleKind kind :
       {LrScheduleKind::Constant, LrScheduleKind::Linear, LrScheduleKind::Cosine, LrScheduleKind::Wsd})
    if (name == toString(kind)) return kind;
  return std::nullopt;
}

double learningRate(const LrSchedule& schedule, std::int64_t step, std::int64_t totalSteps) {
  step = std::max<std::int64_t>(step, 1);
  if (step < schedule.warmupSteps)
    return schedule.peak * static_cast<double>(step) / static_cast<double>(schedule.warmupSteps);
  // The step that is still at the peak, and from which the rate falls.
  const std::int64_t warmEnd = std::max<std::int64_t>(schedule.warmupSteps, 1);
  const double lowest = schedule.minRatio;
  switch (schedule.kind) {
  case LrScheduleKind::Constant:
    return schedule.peak;
  case LrScheduleKind::Linear:
    return schedule.peak * (1.0 - (1.0 - lowest) * progress(step, warmEnd, totalSteps));
  case LrScheduleKind::Cosine: {
    const double fall = 0.5 * (1.0 + std::cos(std::numbers::pi * progress(step, warmEnd, totalSteps)));
    return schedule.peak * (lowest + (1.0 - lowest) * fall);
  }
  case LrScheduleKind::Wsd: {
    const std::int64_t stableEnd = std::max(warmEnd, totalSteps - schedule.decaySteps);
    return schedule.peak * (1.0 - (1.0 - lowest) * progress(step, stableEnd, totalSteps));
  }
  }
  return schedule.peak;
}

} // namespace millrace
