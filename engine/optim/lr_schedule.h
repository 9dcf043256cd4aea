// The learning rate as a pure function of the step. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace millrace {

enum class LrScheduleKind : std::uint8_t {
  Constant, ///< the peak, after warm-up
  Linear,   ///< straight down to minRatio of the peak at the last step
  Cosine,   ///< half a cosine down to minRatio of the peak at the last step
  Wsd,      ///< warm-up, stable, decay: the peak, then straight down over the last decaySteps
};

std::string_view toString(LrScheduleKind kind);
/// From "constant", "linear", "cosine" or "wsd".
std::optional<LrScheduleKind> lrScheduleKindFrom(std::string_view name);

struct LrSchedule {
  LrScheduleKind kind = LrScheduleKind::Cosine;
  double peak = 0; ///< the rate at the end of warm-up
  /// The rate rises in equal steps from peak / warmupSteps at step 1 to peak at step warmupSteps; 0 or 1: no warm-up.
  std::int64_t warmupSteps = 0;
  std::int64_t decaySteps = 0; ///< of Wsd
  double minRatio = 0.1;       ///< of the peak, at the last step
};

/// The rate of a step, 1 being the first and totalSteps the last. Steps past the last have the last one's rate.
double learningRate(const LrSchedule& schedule, std::int64_t step, std::int64_t totalSteps);

} // namespace millrace
