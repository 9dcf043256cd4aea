#include "run/run_plan.h"

#include <algorithm>

namespace millrace {

MemoryLimits memoryLimits(const Project& project, const HardwareProfile& profile) {
  const Bytes usable = profile.memory.usable;
  const Bytes reserve = std::min(std::max(8 * GiB, usable / 10), usable / 2);
  const Bytes budget = usable - reserve;
  MemoryLimits limits{project.memory.vramLimit, project.memory.ramLimit};
  if (limits.device == 0) limits.device = budget / 2;
  if (limits.host == 0) limits.host = std::max<Bytes>(0, budget - limits.device);
  return limits;
}

PlanRequest planRequest(const Project& project, const MemoryLimits& limits) {
  const TrainingConfig& training = project.training;
  PlanRequest request;
  request.shape.rows = training.microBatch;
  request.shape.context = training.context;
  request.shape.microBatches = training.microBatches;
  request.shape.precision = training.precision;
  request.shape.clip = training.clip;
  request.shape.headChunk = std::min(training.headChunk, training.microBatch * training.context);
  request.shape.slots = static_cast<int>(training.slots);
  if (training.scheduleGroup > 0) request.group = training.scheduleGroup;
  switch (training.recompute) {
  case RecomputePolicy::Auto:
    break;
  case RecomputePolicy::Full:
    request.recompute = Recompute::Full;
    break;
  case RecomputePolicy::Selective:
    request.recompute = Recompute::Selective;
    break;
  case RecomputePolicy::None:
    request.recompute = Recompute::None;
    break;
  }
  if (training.offloadActivations != Switch::Auto)
    request.offloadActivations = training.offloadActivations == Switch::On;
  switch (project.memory.placement) {
  case PlacementChoice::Auto:
    request.placement = PlacementPolicy::Auto;
    break;
  case PlacementChoice::Ram:
    request.placement = PlacementPolicy::Host;
    break;
  case PlacementChoice::Weights:
    request.placement = PlacementPolicy::Weights;
    break;
  case PlacementChoice::Vram:
    request.placement = PlacementPolicy::Device;
    break;
  }
  request.deviceLimit = limits.device;
  request.hostLimit = limits.host;
  return request;
}

} // namespace millrace
