// The training documents of a series of shards as a BatchSource: rows packed within each shard, in an order that the
// seed decides (see shard_order.h), anew each epoch. The cursor is all its state. The tokens of a shard that fill no
// whole row are left out, so that a shard's rows depend on it alone: of 2^24 tokens that is less than a row.
#pragma once

#include "data/packed_rows.h"
#include "data/shard_order.h"
#include "data/shard_series.h"

namespace millrace {

class PackedSource final : public BatchSource {
 public:
  /// padding: the token that fills up the row of a shard that has no whole one.
  PackedSource(std::shared_ptr<const ShardSeries> series, std::int64_t context, std::int32_t padding,
               std::uint64_t seed);

  /// Goes over the end of an epoch into the next. After a failure the cursor is as before.
  Result<MicroBatch> next(std::int64_t rows) override;
  /// The next row alone, into a slot of a batch.
  Status next(MicroBatch& batch, std::int64_t slot);
  DataCursor cursor() const override { return m_cursor; }
  /// Goes back to a cursor that it had.
  void restore(const DataCursor& cursor) { m_cursor = cursor; }
  /// To where so many rows have been taken since the beginning.
  Status seekRows(std::int64_t rows);
  /// Refuses places that the data does not have.
  Status seek(const DataCursor& cursor) override;
  std::int64_t rowsPerEpoch() const override;
  std::int64_t context() const override { return m_context; }
  std::vector<double> passes() const override;
  void setWaiting(DataProgressCallback waiting) override { m_waiting = std::move(waiting); }

 private:
  std::int64_t rowsOf(std::size_t shard) const;
  std::int64_t rowsSoFar() const;
  /// Moves the window to the one that holds the cursor's row, which over the end of an epoch is the next one's first.
  Status enterWindow();
  Status loadWindow(std::size_t shards);

  const std::shared_ptr<const ShardSeries> m_series;
  const std::int64_t m_context;
  const std::int32_t m_padding;
  const std::uint64_t m_seed;
  DataProgressCallback m_waiting;
  DataCursor m_cursor;

  // The window that is loaded, or was searched last.
  std::int64_t m_epoch = 0;
  ShardWindow m_window;
  std::int64_t m_firstRow = 0;   ///< of the window in its epoch
  std::int64_t m_windowRows = 0; ///< 0: none is loaded
  std::vector<PackedRows> m_rows;
};

} // namespace millrace
