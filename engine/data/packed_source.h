// The training data as a BatchSource: packed rows in an order that is shuffled anew each epoch by the seed. The cursor
// is all its state.
#pragma once

#include "data/packed_rows.h"

namespace millrace {

class PackedSource final : public BatchSource {
 public:
  /// At least one row.
  PackedSource(PackedRows rows, std::uint64_t seed) : m_rows(std::move(rows)), m_seed(seed) {}

  /// Goes over the end of an epoch into the next. After a failure the cursor is as before.
  Result<MicroBatch> next(std::int64_t rows) override;
  DataCursor cursor() const override { return m_cursor; }
  /// Refuses places that the data does not have.
  Status seek(const DataCursor& cursor) override;
  std::int64_t rowsPerEpoch() const override { return m_rows.rows(); }
  std::int64_t context() const override { return m_rows.context(); }

 private:
  PackedRows m_rows;
  std::uint64_t m_seed;
  DataCursor m_cursor;
};

} // namespace millrace
