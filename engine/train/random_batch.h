// Full rows of random tokens, one document each, every position with a target: what benchmarks and rehearsals train on.
#pragma once

#include "base/random.h"
#include "data/batch.h"
#include "model/model_spec.h"
#include "plan/run_shape.h"

namespace millrace {

/// A micro-batch of the shape's rows and context.
MicroBatch randomBatch(const ModelSpec& spec, const RunShape& shape, Random& random);

} // namespace millrace
