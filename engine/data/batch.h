// Batches of tokens as the trainer consumes them.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <vector>

namespace millrace {

/// One micro-batch: `rows` rows of `context` tokens, one after the other. All vectors have rows * context entries.
struct MicroBatch {
  std::int64_t rows = 0;
  std::int64_t context = 0;
  std::vector<std::int32_t> tokens;
  std::vector<std::int32_t> targets;       ///< the token to predict at each position; -1: not learnt from
  std::vector<std::int32_t> positions;     ///< inside the document, from 0
  std::vector<std::int32_t> documentStart; ///< where in its row the position's document begins
};

/// Where a data source stands; all that a checkpoint needs to continue with the same batches.
struct DataCursor {
  std::int64_t epoch = 0;
  std::int64_t row = 0; ///< rows already taken of this epoch's order
  bool operator==(const DataCursor&) const = default;
};

/// Yields micro-batches in an order that depends on its data and seed alone. One thread at a time.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual Result<MicroBatch> next(std::int64_t rows) = 0;
  virtual DataCursor cursor() const = 0;
  virtual Status seek(const DataCursor& cursor) = 0;
  /// Rows of one epoch.
  virtual std::int64_t rowsPerEpoch() const = 0;
  virtual std::int64_t context() const = 0;
};

} // namespace millrace
