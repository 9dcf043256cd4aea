// What one training step reports: plain values, and their JSON form, which is a line of metrics.jsonl.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace millrace {

/// Traffic of one link (bus, disk) during the step, and for how long it was busy, each way as the device sees it.
struct LinkMetrics {
  std::string name;
  std::int64_t bytesIn = 0;
  std::int64_t bytesOut = 0;
  double secondsIn = 0;
  double secondsOut = 0;
  double peakIn = 0; ///< bytes a second that were measured on this machine; 0: not measured
  double peakOut = 0;

  bool operator==(const LinkMetrics&) const = default;
};

/// Seconds of the step in which nothing was computed, by what was waited for.
struct StallMetrics {
  double waitWeights = 0;
  double waitOptimizer = 0;
  double waitCopyOut = 0;
  double waitData = 0; ///< also before the step, where text was not tokenized yet

  bool operator==(const StallMetrics&) const = default;
};

/// Bytes per tier.
struct MemoryMetrics {
  std::int64_t device = 0;
  std::int64_t host = 0;

  bool operator==(const MemoryMetrics&) const = default;
};

/// What state on disk does to its drives, at the pace of this process so far.
struct DriveMetrics {
  double writtenPerDay = 0;   ///< bytes, on all of them
  double lifeYears = 0;       ///< until they have been written what they are rated; 0: not known
  bool ratingAssumed = false; ///< the rating is what is usual for drives of that size

  bool operator==(const DriveMetrics&) const = default;
};

/// The GPU during the step as its driver tells, which counts what everybody does with it. What is not told is absent.
struct GpuMetrics {
  std::optional<double> utilization; ///< share of the time in which it computed
  std::optional<double> powerWatts;
  std::optional<double> temperature; ///< degrees Celsius
  std::optional<double> memoryUsed;  ///< bytes
  std::optional<double> linkIn;      ///< bytes a second, towards the GPU
  std::optional<double> linkOut;

  bool operator==(const GpuMetrics&) const = default;
};

struct StepMetrics {
  std::int64_t step = 0;       ///< 1 for the first
  std::int64_t totalSteps = 0; ///< that the run will have taken in the end, as far as is known now; 0: not known
  double time = 0;             ///< when it ended, seconds since 1970
  double loss = 0;             ///< mean over unmasked targets; may be NaN or infinite
  double gradNorm = 0;         ///< before clipping
  double learningRate = 0;
  std::int64_t tokens = 0; ///< of this step
  std::int64_t tokensTotal = 0;
  std::int64_t unmaskedTargets = 0;
  double seconds = 0; ///< wall time of the step
  double tokensPerSecond = 0;
  double clipFactor = 1;
  bool discarded = false; ///< loss or norm not finite: parameters untouched
  double forwardSeconds = 0;
  double backwardSeconds = 0;
  double optimizerSeconds = 0;
  double boundSeconds = 0;     ///< what the step would take at the hardware's measured rates; 0: not known
  double predictedSeconds = 0; ///< by the plan, corrected by the steps before; 0: not known
  std::vector<LinkMetrics> links;
  StallMetrics stalls;
  MemoryMetrics peak;
  MemoryMetrics planned;
  std::vector<double> passes;         ///< how often each source was gone over, where they are drawn from by weight
  std::optional<GpuMetrics> gpu;      ///< absent where the CPU computes, or where the driver tells nothing
  std::optional<DriveMetrics> drives; ///< absent where no state is on disk

  bool operator==(const StepMetrics&) const = default;
};

/// One line without its end. Doubles read back to the same bits; NaN and infinities are strings.
std::string toJson(const StepMetrics& metrics);

/// Unknown keys are passed over and missing ones keep their defaults, so that older and newer files can be read;
/// BadInput naming source and key when `step` is missing or a value has the wrong type.
Result<StepMetrics> stepMetricsFromJson(std::string_view line, const std::string& source);

} // namespace millrace
