#include "data/packed_source.h"

#include "data/permutation.h"

#include <fmt/format.h>

namespace millrace {

Result<MicroBatch> PackedSource::next(std::int64_t rows) {
  if (rows < 1) return badInput(fmt::format("a batch of {} rows was asked for, expected at least 1", rows));
  MicroBatch batch = m_rows.makeBatch(rows);
  DataCursor cursor = m_cursor;
  for (std::int64_t slot = 0; slot < rows; ++slot) {
    const Permutation order(static_cast<std::uint64_t>(m_rows.rows()), m_seed,
                            static_cast<std::uint64_t>(cursor.epoch));
    const auto row = static_cast<std::int64_t>(order(static_cast<std::uint64_t>(cursor.row)));
    MILLRACE_CHECK(m_rows.fill(row, batch, slot));
    if (++cursor.row == m_rows.rows()) cursor = {cursor.epoch + 1, 0};
  }
  m_cursor = cursor;
  return batch;
}

Status PackedSource::seek(const DataCursor& cursor) {
  if (cursor.epoch < 0 || cursor.row < 0 || cursor.row > m_rows.rows())
    return badInput(fmt::format("the data cursor is at row {} of epoch {}, but an epoch has {} rows: the data or the "
                                "context length changed",
                                cursor.row, cursor.epoch, m_rows.rows()));
  m_cursor = cursor;
  if (m_cursor.row == m_rows.rows()) m_cursor = {cursor.epoch + 1, 0};
  return {};
}

} // namespace millrace
