// Documents as rows in fixed order, for evaluation: packed within each shard, whose last row is filled up; of several
// series a row each in turn. Waits for shards that are still being tokenized. One thread.
#pragma once

#include "data/packed_rows.h"
#include "data/shard_series.h"

#include <optional>

namespace millrace {

struct ValidationBatch {
  MicroBatch batch;                    ///< rows is 0 at the end
  std::vector<std::int64_t> textBytes; ///< by row: bytes of text that its targets stand for
  std::vector<std::uint16_t> sets;     ///< by position, where the data names sets so far; else empty
};

class ValidationReader {
 public:
  /// padding: the token that fills rows up. tokenBytes: by token id, what
  /// Tokenizer::tokenBytes gives.
  ValidationReader(std::vector<std::shared_ptr<const ShardSeries>> series, DocumentChoice choice, std::int64_t context,
                   std::int32_t padding, std::shared_ptr<const std::vector<std::int32_t>> tokenBytes);

  /// Up to this many of the rows that are left.
  Result<ValidationBatch> next(std::int64_t rows);
  void rewind();
  /// Whether there is any row. Rewinds.
  Result<bool> hasRows();
  /// Of the shards so far.
  std::int64_t rows() const;
  std::int64_t context() const { return m_context; }
  /// Bytes of text that the token stands for.
  std::int32_t textBytes(std::int32_t token) const { return (*m_tokenBytes)[static_cast<std::size_t>(token)]; }
  /// By index, of what was read.
  const std::vector<std::string>& setNames() const { return m_setNames; }
  /// Called now and then while it waits for data; false gives up with Interrupted.
  void setWaiting(DataProgressCallback waiting) { m_waiting = std::move(waiting); }

 private:
  /// Where a series is read.
  struct Place {
    std::shared_ptr<const ShardSeries> series;
    std::size_t nextShard = 0;
    std::optional<PackedRows> rows = {};  ///< of the open shard
    std::int64_t row = 0;                 ///< next of them
    std::vector<std::uint16_t> sets = {}; ///< by the shard's indexes, the reader's
    bool ended = false;
  };
  /// Makes the place's next shard with rows the open one; false behind the last.
  Result<bool> openNext(Place& place);
  /// The place whose turn it is, standing before a row; null when none is left.
  Result<Place*> turn();
  std::uint16_t indexOf(const std::string& name);

  std::vector<Place> m_places;
  const DocumentChoice m_choice;
  const std::int64_t m_context;
  const std::int32_t m_padding;
  const std::shared_ptr<const std::vector<std::int32_t>> m_tokenBytes;
  DataProgressCallback m_waiting;
  std::size_t m_turn = 0;
  std::vector<std::string> m_setNames = {""};
};

} // namespace millrace
