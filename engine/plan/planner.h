// The planner: recompute policy, schedule group, offloading and the home of every unit, so that a step is predicted to
// take the least time within the limits. Pure.
#pragma once

#include "base/result.h"
#include "plan/memory_plan.h"
#include "plan/step_time.h"

#include <optional>

namespace millrace {

enum class PlacementPolicy { Auto, Host, Weights, Device };

struct PlanRequest {
  RunShape shape; ///< group, recompute, offload and slots are overwritten where they are left to the planner
  std::optional<std::int64_t> group;
  std::optional<Recompute> recompute;
  std::optional<bool> offloadActivations;
  PlacementPolicy placement = PlacementPolicy::Auto;
  Bytes deviceLimit = 0;
  Bytes hostLimit = 0;
  Bytes diskLimit = 0;                     ///< 0: nothing lives on disk
  std::optional<StepRates> rates;          ///< absent: those of an ordinary CPU
  bool splitUpdates = false;               ///< AdamW of blocks on the host may run on the device
  std::optional<double> deviceUpdateShare; ///< with splitUpdates: this much of it, whether or not it is fastest
  bool holdGradients = true;               ///< with clipping off: those of some layers may wait for the next forward
};

struct PlannedStep {
  MemoryPlan memory;
  StepWork work;
  StepTime time;
  /// Tokens a step from which on nothing but compute limits the rate; 0: there is no such number.
  double computeBindsFrom = 0;
};

/// The fastest settings that fit all limits; or DoesNotFit, saying which tier is short, how much the smallest settings
/// need and what to change. BadInput for sizes beyond all counting. For inference there is no step to predict: `work`
/// and `time` stay empty.
Result<PlannedStep> planStep(const ModelSpec& spec, const PlanRequest& request);

/// Whether planStep() would find anything, in a fraction of its time: what the settings need at least, host memory
/// weighed first; or planStep()'s error.
Result<TierTotals> leastMemory(const ModelSpec& spec, const PlanRequest& request);

/// The memory of planStep().
Result<MemoryPlan> planMemory(const ModelSpec& spec, const PlanRequest& request);

/// The settings that need the least device memory, whatever the limits: "the smallest cap that the planner accepts".
MemoryPlan smallestPlan(const ModelSpec& spec, const PlanRequest& request);

/// The settings that need the least host memory where the device has room for any, else smallestPlan(): what a refusal
/// by planStep() names. Training only.
MemoryPlan leanestPlan(const ModelSpec& spec, const PlanRequest& request);

/// What a step of these settings would do and take.
PlannedStep predictPlan(const ModelSpec& spec, const PlanRequest& request, MemoryPlan memory);

} // namespace millrace
