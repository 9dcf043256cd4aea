#include "data/mixed_source.h"

#include <fmt/format.h>

namespace millrace {

MixedSource::MixedSource(std::vector<std::unique_ptr<PackedSource>> sources, std::vector<double> weights)
    : m_sources(std::move(sources)), m_weights(std::move(weights)), m_order(m_weights) {}

Result<MicroBatch> MixedSource::next(std::int64_t rows) {
  if (rows < 1) return badInput(fmt::format("a batch of {} rows was asked for, expected at least 1", rows));
  MicroBatch batch = makeMicroBatch(rows, context());
  const Interleaving before = m_order;
  std::vector<DataCursor> cursors;
  for (const auto& source : m_sources) cursors.push_back(source->cursor());
  for (std::int64_t slot = 0; slot < rows; ++slot) {
    const Status filled = m_sources[m_order.next()]->next(batch, slot);
    if (filled) continue;
    m_order = before;
    for (std::size_t i = 0; i < m_sources.size(); ++i) m_sources[i]->restore(cursors[i]);
    return tl::unexpected<Error>(filled.error());
  }
  return batch;
}

Status MixedSource::seek(const DataCursor& cursor) {
  if (cursor.epoch != 0 || cursor.row < 0)
    return badInput(fmt::format("the data cursor is at row {} of epoch {}, expected a row of epoch 0: the weights of "
                                "sources changed",
                                cursor.row, cursor.epoch));
  Interleaving order(m_weights);
  while (order.turns() < cursor.row) order.next();
  for (std::size_t i = 0; i < m_sources.size(); ++i) MILLRACE_CHECK(m_sources[i]->seekRows(order.taken()[i]));
  m_order = std::move(order);
  return {};
}

std::int64_t MixedSource::rowsPerEpoch() const {
  std::int64_t all = 0;
  for (const auto& source : m_sources) {
    const std::int64_t rows = source->rowsPerEpoch();
    if (rows == 0) return 0;
    all += rows;
  }
  return all;
}

void MixedSource::setWaiting(DataProgressCallback waiting) {
  for (const auto& source : m_sources) source->setWaiting(waiting);
}

std::vector<double> MixedSource::passes() const {
  std::vector<double> passes;
  for (const auto& source : m_sources) passes.push_back(source->passes().front());
  return passes;
}

} // namespace millrace
