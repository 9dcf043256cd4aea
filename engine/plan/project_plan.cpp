#include "plan/project_plan.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

std::optional<Recompute> recomputeOf(RecomputePolicy policy) {
  switch (policy) {
  case RecomputePolicy::Full:
    return Recompute::Full;
  case RecomputePolicy::Selective:
    return Recompute::Selective;
  case RecomputePolicy::None:
    return Recompute::None;
  case RecomputePolicy::Auto:
    break;
  }
  return std::nullopt;
}

PlacementPolicy placementOf(PlacementChoice choice) {
  switch (choice) {
  case PlacementChoice::Ram:
    return PlacementPolicy::Host;
  case PlacementChoice::Weights:
    return PlacementPolicy::Weights;
  case PlacementChoice::Vram:
    return PlacementPolicy::Device;
  case PlacementChoice::Auto:
    break;
  }
  return PlacementPolicy::Auto;
}

/// The planner adds and multiplies in 63 bits; this is far above what it can come to for shapes that pass.
Status checkCountable(const RunShape& shape, const ModelSpec& spec) {
  const double tokens = static_cast<double>(shape.rows) * static_cast<double>(shape.context) *
                        static_cast<double>(std::max<std::int64_t>(1, shape.microBatches));
  const double width = static_cast<double>(spec.hidden) + static_cast<double>(spec.mlp.inner) +
                       static_cast<double>(spec.attention.heads * spec.attention.headDim);
  const double activations = tokens * width * static_cast<double>(spec.layers.size() + 2) * 64;
  const double logits = static_cast<double>(shape.headChunk) * static_cast<double>(spec.vocabulary) * 16;
  if (activations + logits < 4e18) return {};
  return badInput(fmt::format("training: {} rows of {} tokens in {} micro-batches are beyond any memory: lower "
                              "training.micro_batch, training.context or training.tokens_per_step",
                              formatCount(shape.rows), formatCount(shape.context), formatCount(shape.microBatches)));
}

} // namespace

MemoryLimits memoryLimits(const Project& project, const HardwareProfile& profile) {
  const Bytes available = profile.memory.usable > 0 ? profile.memory.usable : profile.memory.total;
  MemoryLimits limits;
  limits.device = project.memory.vramLimit;
  limits.deviceOrigin = "memory.vram_limit";
  if (limits.device == 0) {
    limits.device = available / 2;
    limits.deviceOrigin = fmt::format("half of the {} of memory that are free now", formatBytes(available));
  }
  limits.host = project.memory.ramLimit;
  limits.hostOrigin = "memory.ram_limit";
  if (limits.host == 0) {
    limits.host = std::max(available - std::max(8 * GiB, available / 10), available / 2);
    limits.hostOrigin = fmt::format("of the {} of memory that are free now", formatBytes(available));
  }
  return limits;
}

Result<PlanRequest> planRequest(const Project& project, const ModelSpec& spec, const MemoryLimits& limits) {
  const TrainingConfig& training = project.training;
  if (training.device != "auto" && training.device != "cpu")
    return badInput(fmt::format("training.device is '{}', but this program was built without CUDA: use auto or cpu",
                                training.device));
  PlanRequest request;
  request.shape.rows = training.microBatch;
  request.shape.context = training.context;
  request.shape.microBatches = training.microBatches;
  request.shape.precision = training.precision;
  request.shape.clip = training.clip;
  request.shape.headChunk = training.headChunk;
  request.shape.slots = static_cast<int>(training.slots);
  if (training.scheduleGroup > 0) request.group = training.scheduleGroup;
  request.recompute = recomputeOf(training.recompute);
  if (training.offloadActivations != Switch::Auto)
    request.offloadActivations = training.offloadActivations == Switch::On;
  request.placement = placementOf(project.memory.placement);
  request.deviceLimit = limits.device;
  request.hostLimit = limits.host;
  MILLRACE_CHECK(checkCountable(request.shape, spec));
  return request;
}

} // namespace millrace
