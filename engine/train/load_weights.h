// Filling a store's weights from outside: a model on disk, or starting values. Moments stay zero.
#pragma once

#include "base/result.h"
#include "storage/tensor_store.h"

#include <functional>
#include <span>

namespace millrace {

/// Gives the fp32 elements [first, first + size) of a block, padding zero.
using BlockValues = std::function<Status(const BlockSpec& block, std::int64_t first, std::span<float> values)>;

/// Writes every block, a bounded piece at a time. The stream is synchronized.
Status loadWeights(TensorStore& store, Stream& stream, const BlockValues& values);

/// Starting values drawn from the seed, on all threads of the pool: they depend on neither their number nor the order.
/// Of blocks that share memory the first is drawn. For a store that nobody has read yet. Errors: the store's.
Status drawWeights(TensorStore& store, Stream& stream, ThreadPool& pool, const ModelSpec& spec, std::uint64_t seed);

} // namespace millrace
