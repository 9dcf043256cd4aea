#include "data/validation_reader.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

ValidationReader::ValidationReader(std::vector<std::shared_ptr<const ShardSeries>> series, DocumentChoice choice,
                                   std::int64_t context, std::int32_t padding,
                                   std::shared_ptr<const std::vector<std::int32_t>> tokenBytes)
    : m_choice(choice), m_context(context), m_padding(padding), m_tokenBytes(std::move(tokenBytes)) {
  for (auto& one : series) m_places.push_back({std::move(one)});
}

void ValidationReader::rewind() {
  for (Place& place : m_places) place = {std::move(place.series)};
  m_turn = 0;
}

Result<bool> ValidationReader::hasRows() {
  rewind();
  MILLRACE_TRY(const Place* const place, turn());
  const bool any = place != nullptr;
  rewind();
  return any;
}

std::int64_t ValidationReader::rows() const {
  std::int64_t rows = 0;
  for (const Place& place : m_places)
    for (std::size_t shard = 0; shard < place.series->shards(); ++shard) {
      const ShardFacts facts = place.series->facts(shard);
      const std::int64_t training = m_choice == DocumentChoice::Validation ? 0 : facts.trainingTokens;
      const std::int64_t heldBack = m_choice == DocumentChoice::Training ? 0 : facts.validationTokens;
      rows += PackedRows::rowsOf(training + heldBack, m_context, PackedRows::Tail::Pad);
    }
  return rows;
}

std::uint16_t ValidationReader::indexOf(const std::string& name) {
  const auto found = std::find(m_setNames.begin(), m_setNames.end(), name);
  const auto index = static_cast<std::uint16_t>(found - m_setNames.begin());
  if (found == m_setNames.end()) m_setNames.push_back(name);
  return index;
}

Result<bool> ValidationReader::openNext(Place& place) {
  place.rows.reset();
  while (!place.ended) {
    MILLRACE_CHECK(place.series->waitFor(place.nextShard + 1, m_waiting));
    place.ended = place.nextShard >= place.series->shards();
    if (place.ended) break;
    MILLRACE_TRY(auto shard, place.series->open(place.nextShard));
    ++place.nextShard;
    auto documents = documentsOf(*shard, place.series->validationFraction(), m_choice);
    if (documents.empty()) continue;
    place.sets.clear();
    for (const std::string& name : shard->setNames()) place.sets.push_back(indexOf(name));
    place.rows.emplace(std::move(shard), std::move(documents), m_context, m_padding, PackedRows::Tail::Pad);
    place.row = 0;
    return true;
  }
  return false;
}

Result<ValidationReader::Place*> ValidationReader::turn() {
  for (std::size_t tried = 0; tried < m_places.size(); ++tried) {
    Place& place = m_places[m_turn];
    m_turn = (m_turn + 1) % m_places.size();
    bool any = place.rows && place.row < place.rows->rows();
    if (!any) {
      MILLRACE_TRY(any, openNext(place));
    }
    if (any) return &place;
  }
  return nullptr;
}

Result<ValidationBatch> ValidationReader::next(std::int64_t rows) {
  if (rows < 1) return badInput(fmt::format("a batch of {} rows was asked for, expected at least 1", rows));
  ValidationBatch out;
  out.batch = makeMicroBatch(rows, m_context);
  const auto context = static_cast<std::size_t>(m_context);
  std::size_t filled = 0;
  for (; filled < static_cast<std::size_t>(rows); ++filled) {
    MILLRACE_TRY(Place* const place, turn());
    if (place == nullptr) break;
    MILLRACE_CHECK(place->rows->fill(place->row, out.batch, static_cast<std::int64_t>(filled)));
    if (m_setNames.size() > 1) {
      out.sets.resize(filled * context); // rows before it are of no set that has a name
      for (const std::uint16_t set : place->rows->setsOf(place->row)) out.sets.push_back(place->sets[set]);
    }
    std::int64_t& bytes = out.textBytes.emplace_back(0);
    for (const std::int32_t target : std::span(out.batch.targets).subspan(filled * context, context))
      if (target >= 0) bytes += textBytes(target);
    ++place->row;
  }
  if (filled < static_cast<std::size_t>(rows)) { // the last ones
    out.batch.rows = static_cast<std::int64_t>(filled);
    for (auto* values : {&out.batch.tokens, &out.batch.targets, &out.batch.positions, &out.batch.documentStart})
      values->resize(filled * context);
  }
  return out;
}

} // namespace millrace
