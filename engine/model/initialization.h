// Starting values of a model trained from scratch, as transformers draws them: matrices and embeddings normal with the
// config's standard deviation, norm weights one, biases zero. Pure functions; any thread.
#pragma once

#include "model/blocks.h"
#include "model/model_spec.h"

#include <cstdint>
#include <span>

namespace millrace {

/// The standard deviation of a parameter's starting values; 0 for biases and norm weights, which are constant. gpt2
/// divides that of the projections into the residual stream by sqrt(2 layers).
double initialDeviation(const ModelSpec& spec, const ParameterSpec& parameter);

/// The elements [first, first + destination.size()) of the parameter, row-major, in fp32. Each value depends on the
/// spec, the seed, the parameter's name and its own index alone, so pieces may be drawn in any order by any thread.
void initialValues(const ModelSpec& spec, const ParameterSpec& parameter, std::uint64_t seed, std::int64_t first,
                   std::span<float> destination);

/// The same for the elements [first, first + destination.size()) of a block; padding is zero.
void initialBlockValues(const ModelSpec& spec, const BlockSpec& block, std::uint64_t seed, std::int64_t first,
                        std::span<float> destination);

} // namespace millrace
