#include "data/packed_rows.h"

#include "data/shard_series.h"

#include <algorithm>
#include <cassert>
#include <fmt/format.h>

namespace millrace {

namespace {

/// Drops the targets that lie in no range; the first is the document's token `token`.
void maskUnlearnt(std::span<const TokenRange> learnt, std::uint64_t token, std::span<std::int32_t> targets) {
  auto range = std::partition_point(learnt.begin(), learnt.end(), [&](const TokenRange& r) { return r.end <= token; });
  for (std::int32_t& target : targets) {
    if (range == learnt.end() || token < range->begin) target = -1;
    ++token;
    if (range != learnt.end() && range->end <= token) ++range;
  }
}

} // namespace

std::vector<std::uint64_t> documentsOf(const TokenShard& shard, double validationFraction, DocumentChoice choice) {
  std::vector<std::uint64_t> chosen;
  for (std::size_t i = 0; i < shard.documents().size(); ++i) {
    const bool heldBack = isValidationDocument(shard.documents()[i].hash, validationFraction);
    if (choice == DocumentChoice::All || heldBack == (choice == DocumentChoice::Validation)) chosen.push_back(i);
  }
  return chosen;
}

PackedRows::PackedRows(std::shared_ptr<const TokenShard> shard, std::vector<std::uint64_t> documents,
                       std::int64_t context, std::int32_t padding, Tail tail)
    : m_shard(std::move(shard)), m_documents(std::move(documents)), m_context(context), m_padding(padding) {
  assert(context > 0);
  m_packedStart.reserve(m_documents.size() + 1);
  std::uint64_t at = 0;
  for (const std::uint64_t document : m_documents) {
    m_packedStart.push_back(at);
    at += static_cast<std::uint64_t>(m_shard->length(document));
  }
  m_packedStart.push_back(at);
  m_rows = rowsOf(static_cast<std::int64_t>(at), context, tail);
}

std::int64_t PackedRows::rowsOf(std::int64_t tokens, std::int64_t context, Tail tail) {
  const std::int64_t whole = tokens / context;
  return tail == Tail::Pad || whole == 0 ? whole + (tokens % context > 0 ? 1 : 0) : whole;
}

MicroBatch makeMicroBatch(std::int64_t rows, std::int64_t context) {
  const auto entries = static_cast<std::size_t>(rows * context);
  MicroBatch batch;
  batch.rows = rows;
  batch.context = context;
  batch.tokens.resize(entries);
  batch.targets.resize(entries);
  batch.positions.resize(entries);
  batch.documentStart.resize(entries);
  return batch;
}

std::size_t PackedRows::documentAt(std::uint64_t packed) const {
  return static_cast<std::size_t>(std::upper_bound(m_packedStart.begin(), m_packedStart.end(), packed) -
                                  m_packedStart.begin() - 1);
}

std::vector<std::uint16_t> PackedRows::setsOf(std::int64_t row) const {
  std::vector<std::uint16_t> sets;
  const auto rowStart = static_cast<std::uint64_t>(row * m_context);
  const std::uint64_t rowEnd = std::min(rowStart + static_cast<std::uint64_t>(m_context), m_packedStart.back());
  std::size_t document = documentAt(rowStart);
  for (std::uint64_t packed = rowStart; packed < rowEnd; ++document) {
    const std::uint64_t end = std::min(m_packedStart[document + 1], rowEnd);
    sets.insert(sets.end(), end - packed, m_shard->documents()[m_documents[document]].set);
    packed = end;
  }
  sets.resize(static_cast<std::size_t>(m_context));
  return sets;
}

Status PackedRows::fill(std::int64_t row, MicroBatch& batch, std::int64_t slot) const {
  assert(row >= 0 && row < m_rows && slot >= 0 && slot < batch.rows);
  const auto rowStart = static_cast<std::uint64_t>(row * m_context);
  const std::uint64_t rowEnd = std::min(rowStart + static_cast<std::uint64_t>(m_context), m_packedStart.back());
  const std::size_t base = static_cast<std::size_t>(slot * m_context);
  std::vector<std::int32_t> ids;
  std::size_t at = 0; // in the row
  std::size_t document = documentAt(rowStart);
  for (std::uint64_t packed = rowStart; packed < rowEnd; ++document) {
    const std::uint64_t end = std::min(m_packedStart[document + 1], rowEnd);
    const auto count = static_cast<std::size_t>(end - packed);
    const bool goesOn = end < m_packedStart[document + 1]; // its next token is the target of the row's last position
    ids.resize(count + (goesOn ? 1 : 0));
    const std::uint64_t offset = packed - m_packedStart[document]; // in the document
    const CachedDocument& cached = m_shard->documents()[m_documents[document]];
    MILLRACE_CHECK(m_shard->read(static_cast<std::int64_t>(cached.firstToken + offset), ids));
    for (std::size_t i = 0; i < count; ++i) {
      batch.tokens[base + at + i] = ids[i];
      batch.targets[base + at + i] = i + 1 < ids.size() ? ids[i + 1] : -1;
      batch.positions[base + at + i] = static_cast<std::int32_t>(i);
      batch.documentStart[base + at + i] = static_cast<std::int32_t>(at);
    }
    if (cached.wholeLearnt == 0)
      maskUnlearnt(m_shard->learnt(m_documents[document]), offset + 1,
                   std::span(batch.targets).subspan(base + at, count));
    at += count;
    packed = end;
  }
  const std::size_t padStart = at;
  for (; at < static_cast<std::size_t>(m_context); ++at) {
    batch.tokens[base + at] = m_padding;
    batch.targets[base + at] = -1;
    batch.positions[base + at] = static_cast<std::int32_t>(at - padStart);
    batch.documentStart[base + at] = static_cast<std::int32_t>(padStart);
  }
  return {};
}

} // namespace millrace
