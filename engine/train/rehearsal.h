// A rehearsal: steps of a model with the run's own widths but few layers, to learn what a layer and what everything
// else takes of the device. Far more exact than rates of large products, which small ones never reach.
#pragma once

#include "base/thread_pool.h"
#include "device/device.h"
#include "model/model_spec.h"
#include "plan/step_work.h"

#include <cstdint>
#include <functional>
#include <memory>

namespace millrace {

/// Seconds of compute for a micro-batch.
struct Rehearsal {
  double forwardLayer = 0;  ///< each layer
  double forwardRest = 0;   ///< embedding
  double backwardLayer = 0; ///< with what it computes again
  double backwardRest = 0;  ///< the head's loss and gradients, embedding's gradients
  std::int64_t rows = 0;    ///< that it was done with
};

struct RehearsalLimits {
  Bytes bytes = 0;  ///< of device and host memory together
  double flops = 0; ///< of one step of it, at most: rows are left out until it is so
};

/// Makes the device to rehearse on, with so much memory of its own and of the host.
using DeviceOpener = std::function<Result<std::unique_ptr<Device>>(Bytes deviceLimit, Bytes hostLimit)>;

/// Takes some steps' time. DoesNotFit where a model of few layers is too large for the limits already.
Result<Rehearsal> rehearse(const DeviceOpener& open, ThreadPool& pool, const ModelSpec& spec, const RunShape& shape,
                           const RehearsalLimits& limits);

/// The work of a step with compute as rehearsed: scaled to the step's layers, micro-batches and rows.
StepWork withRehearsal(StepWork work, const Rehearsal& rehearsal, const ModelSpec& spec, const RunShape& shape);

} // namespace millrace
