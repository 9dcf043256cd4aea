#include "api/inference_engine.h"

#include "hardware/detect.h"
#include "plan/planner.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

namespace millrace {

Result<ComputeLimits> computeLimits(const ComputeOptions& options) {
  ComputeLimits limits;
  limits.profile = detectHardware();
  MILLRACE_TRY(limits.choice, readyDevice(options.device, "the device", limits.profile));
  limits.threads = options.threads > 0 ? options.threads : std::max(1, limits.profile.cpu.usableCores);
  // A tenth is left to everything else on the machine. The CPU's device memory is a part of the same RAM.
  const Bytes free = limits.profile.memory.usable - limits.profile.memory.usable / 10;
  limits.host = options.hostLimit > 0 ? options.hostLimit : free;
  limits.device = free;
  if (limits.gpu()) {
    const GpuFacts& gpu = limits.profile.nvidia.gpus[static_cast<std::size_t>(limits.choice.gpu)];
    limits.device = std::max<Bytes>(0, gpu.memoryFree - limits.choice.driverBytes);
  }
  if (options.deviceLimit > 0) limits.device = options.deviceLimit;
  return limits;
}

Result<std::unique_ptr<Device>> openDevice(const ComputeLimits& limits, ThreadPool& pool, Bytes deviceLimit,
                                           Bytes hostLimit) {
  return openChosen(limits.choice, limits.profile, pool, deviceLimit, hostLimit);
}

namespace {

/// The values, counted as they are read.
BlockValues counted(BlockValues values, std::int64_t total, const InferenceEngine::Loading& loading) {
  if (!loading) return values;
  return [values = std::move(values), total, loading,
          done = std::int64_t{0}](const BlockSpec& block, std::int64_t first, std::span<float> into) mutable -> Status {
    if (!loading(done, total)) return failure(ErrorKind::Interrupted, "reading the model was given up");
    done += static_cast<std::int64_t>(into.size());
    return values(block, first, into);
  };
}

} // namespace

Result<InferenceEngine> InferenceEngine::create(const SavedModel& source, const ComputeOptions& options,
                                                const Shape& shape, const Loading& loading) {
  MILLRACE_TRY(const ComputeLimits limits, computeLimits(options));
  PlanRequest request;
  request.shape.rows = shape.rows;
  request.shape.context = shape.context;
  request.shape.cacheTokens = shape.cacheTokens;
  request.shape.headChunk = shape.headChunk;
  request.shape.precision = options.precision;
  request.shape.training = false;
  request.deviceLimit = limits.device;
  request.hostLimit = limits.host;
  MILLRACE_TRY(const MemoryPlan plan, planMemory(source.spec(), request));
  const Bytes needed = plan.total(MemoryTier::Device) + plan.total(MemoryTier::Host);
  const Bytes free = std::max(limits.device, limits.host);
  if (!limits.gpu() && options.deviceLimit == 0 && options.hostLimit == 0 && needed > free)
    return failure(ErrorKind::DoesNotFit,
                   fmt::format("the model needs {} of memory and {} can be taken; compute in bf16, allow a shorter "
                               "context, or close other programs",
                               formatBytes(needed), formatBytes(free)));

  InferenceEngine engine;
  engine.m_pool = std::make_unique<ThreadPool>(limits.threads);
  MILLRACE_TRY(engine.m_device,
               openDevice(limits, *engine.m_pool, plan.total(MemoryTier::Device), plan.total(MemoryTier::Host)));
  MILLRACE_TRY(engine.m_runner, ForwardRunner::create(*engine.m_device, *engine.m_pool, source.spec(), plan));
  TensorStore& store = engine.m_runner->store();
  std::int64_t parameters = 0;
  for (const BlockSpec& block : store.blocks()) parameters += block.elements;
  MILLRACE_CHECK(
      loadWeights(store, *engine.m_runner->streams().copyIn, counted(source.blockValues(), parameters, loading)));
  return engine;
}

} // namespace millrace
