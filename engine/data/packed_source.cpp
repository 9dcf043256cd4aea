#include "data/packed_source.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

PackedSource::PackedSource(std::shared_ptr<const ShardSeries> series, std::int64_t context, std::int32_t padding,
                           std::uint64_t seed)
    : m_series(std::move(series)), m_context(context), m_padding(padding), m_seed(seed) {}

std::int64_t PackedSource::rowsOf(std::size_t shard) const {
  return PackedRows::rowsOf(m_series->facts(shard).trainingTokens, m_context, PackedRows::Tail::Drop);
}

std::int64_t PackedSource::rowsPerEpoch() const {
  return m_series->complete() ? rowsSoFar() : 0;
}

std::vector<double> PackedSource::passes() const {
  const auto rows = static_cast<double>(std::max<std::int64_t>(1, rowsSoFar()));
  return {static_cast<double>(m_cursor.epoch) + static_cast<double>(m_cursor.row) / rows};
}

std::int64_t PackedSource::rowsSoFar() const {
  std::int64_t rows = 0;
  for (std::size_t shard = 0; shard < m_series->shards(); ++shard) rows += rowsOf(shard);
  return rows;
}

Result<MicroBatch> PackedSource::next(std::int64_t rows) {
  if (rows < 1) return badInput(fmt::format("a batch of {} rows was asked for, expected at least 1", rows));
  MicroBatch batch = makeMicroBatch(rows, m_context);
  const DataCursor before = m_cursor;
  for (std::int64_t slot = 0; slot < rows; ++slot) {
    const Status filled = next(batch, slot);
    if (filled) continue;
    m_cursor = before;
    return tl::unexpected<Error>(filled.error());
  }
  return batch;
}

Status PackedSource::next(MicroBatch& batch, std::int64_t slot) {
  const DataCursor before = m_cursor;
  Status outcome = enterWindow();
  if (outcome) {
    const Permutation order = rowOrder(m_windowRows, m_window, m_seed, m_epoch);
    auto row = static_cast<std::int64_t>(order(static_cast<std::uint64_t>(m_cursor.row - m_firstRow)));
    auto rows = m_rows.begin();
    while (row >= rows->rows()) row -= (rows++)->rows();
    outcome = rows->fill(row, batch, slot);
  }
  if (!outcome) {
    m_cursor = before;
    return outcome;
  }
  ++m_cursor.row;
  // Where that is known, the end of an epoch is the beginning of the next.
  if (m_cursor.row == m_firstRow + m_windowRows && m_series->complete() &&
      m_window.first + m_window.count >= m_series->shards())
    m_cursor = {m_cursor.epoch + 1, 0};
  return {};
}

Status PackedSource::enterWindow() {
  const bool loaded = m_windowRows > 0 && m_epoch == m_cursor.epoch && m_cursor.row >= m_firstRow;
  if (loaded && m_cursor.row < m_firstRow + m_windowRows) return {};
  if (!loaded) {
    m_epoch = m_cursor.epoch;
    m_window = {};
    m_firstRow = m_windowRows = 0;
  }
  m_rows.clear();
  for (;;) {
    m_firstRow += m_windowRows;
    m_windowRows = 0;
    m_window = after(m_window);
    // Only epoch 0 knows its order before all shards are there.
    MILLRACE_CHECK(m_epoch == 0 ? m_series->waitFor(m_window.first + m_window.count, m_waiting)
                                : m_series->waitUntilComplete(m_waiting));
    const std::size_t shards = m_series->shards();
    if (m_window.first >= shards) { // the epoch is over
      if (m_cursor.row > m_firstRow)
        return badInput(fmt::format("the data cursor is at row {} of epoch {}, but an epoch has {} rows: the data or "
                                    "the context length changed",
                                    m_cursor.row, m_cursor.epoch, m_firstRow));
      if (m_firstRow == 0) return tl::unexpected<Error>(m_series->nothingToTrainOn());
      m_cursor = {m_cursor.epoch + 1, 0};
      m_epoch = m_cursor.epoch;
      m_window = {};
      m_firstRow = 0;
      continue;
    }
    for (std::size_t i = 0; i < m_window.count && m_window.first + i < shards; ++i)
      m_windowRows += rowsOf(shardAt(m_window.first + i, shards, m_seed, m_epoch));
    if (m_cursor.row < m_firstRow + m_windowRows) return loadWindow(shards);
  }
}

Status PackedSource::loadWindow(std::size_t shards) {
  for (std::size_t i = 0; i < m_window.count && m_window.first + i < shards; ++i) {
    auto shard = m_series->open(shardAt(m_window.first + i, shards, m_seed, m_epoch));
    if (!shard) {
      m_windowRows = 0;
      return tl::unexpected<Error>(shard.error());
    }
    auto documents = documentsOf(**shard, m_series->validationFraction(), DocumentChoice::Training);
    m_rows.emplace_back(std::move(*shard), std::move(documents), m_context, m_padding, PackedRows::Tail::Drop);
  }
  return {};
}

Status PackedSource::seekRows(std::int64_t rows) {
  std::int64_t known = 0;
  for (std::size_t shard = 0;; ++shard) {
    MILLRACE_CHECK(m_series->waitFor(shard + 1, m_waiting));
    if (shard >= m_series->shards()) break;
    known += rowsOf(shard);
    if (rows < known) return seek({0, rows});
  }
  if (known == 0) return tl::unexpected<Error>(m_series->nothingToTrainOn());
  return seek({rows / known, rows % known});
}

Status PackedSource::seek(const DataCursor& cursor) {
  const DataCursor before = m_cursor;
  const auto refused = [&]() -> Status {
    return badInput(
        fmt::format("the data cursor is at row {} of epoch {}, which no data has", cursor.row, cursor.epoch));
  };
  if (cursor.epoch < 0 || cursor.row < 0) return refused();
  m_cursor = cursor;
  const Status entered = enterWindow();
  if (!entered) m_cursor = before;
  return entered;
}

} // namespace millrace
