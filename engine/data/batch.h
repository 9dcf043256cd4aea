// Batches of tokens as the trainer consumes them.
#pragma once

#include "base/result.h"
#include "data/data_progress.h"

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

/// Yields micro-batches in an order that depends on its data and seed alone. One thread at a time. Where data is still
/// being tokenized, next() and seek() wait for what they need.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual Result<MicroBatch> next(std::int64_t rows) = 0;
  virtual DataCursor cursor() const = 0;
  virtual Status seek(const DataCursor& cursor) = 0;
  /// Rows of one epoch; 0: not known yet, since not all of the data is tokenized.
  virtual std::int64_t rowsPerEpoch() const = 0;
  /// Called now and then while it waits for data; false gives up with Interrupted.
  virtual void setWaiting(DataProgressCallback waiting) = 0;
  virtual std::int64_t context() const = 0;
  /// How many times each of the sources that it draws from was gone over so far; of one that is not yet tokenized, the
  /// share that is known.
  virtual std::vector<double> passes() const = 0;
};

} // namespace millrace
