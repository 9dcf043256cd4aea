// A micro-batch made ready for the device: which rows of the embedding it uses, and the integers that kernels index
// with.
#pragma once

#include "data/batch.h"
#include "plan/memory_plan.h"
#include "tensor/tensor.h"
#include "train/layer_program.h"

#include <memory>
#include <vector>

namespace millrace {

/// Host-side form; immutable once made, shared with the copy that sends it.
struct PreparedMicroBatch {
  std::int64_t rows = 0;
  std::int64_t context = 0;
  std::int64_t targets = 0;            ///< unmasked
  std::int64_t positionsUsed = 0;      ///< 1 + the largest position
  std::vector<std::int32_t> rowTokens; ///< distinct tokens, ascending: the embedding rows that it uses
  std::vector<std::byte> staged;       ///< BatchLayout
};

/// Checks every token, position and document start against the model and the shape (they come from data):
/// EngineException names the first that is out of range.
std::shared_ptr<const PreparedMicroBatch> prepareMicroBatch(const ModelSpec& spec, const RunShape& shape,
                                                            const BatchLayout& layout, const MicroBatch& batch);

/// The arrays of a prepared micro-batch in device memory at `data`.
struct BatchViews {
  BatchViews(const BatchLayout& layout, const PreparedMicroBatch& batch, std::byte* data, bool training,
             bool learnedPositions);
  TensorView tokens, rowIds, positions, documentStart, targets;
  TensorView order, starts, rowTokens, positionOrder, positionStarts;
};

} // namespace millrace
