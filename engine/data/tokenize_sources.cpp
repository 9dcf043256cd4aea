#include "data/tokenize_sources.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr Bytes batchBytesPerThread = 4 * MiB;
constexpr std::size_t batchRecords = 65536;
constexpr Bytes taskBytes = 256 * KiB;

/// Cuts items into runs of about taskBytes, which are the pool's tasks: their number depends on the data alone.
template <class Item, class Size>
std::vector<std::size_t> cutIntoTasks(const std::vector<Item>& items, Size&& sizeOf) {
  std::vector<std::size_t> starts;
  Bytes size = taskBytes;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (size >= taskBytes) {
      starts.push_back(i);
      size = 0;
    }
    size += sizeOf(items[i]);
  }
  starts.push_back(items.size());
  return starts;
}

RecordLimits recordLimitsFor(const Tokenizer& tokenizer) {
  RecordLimits limits;
  if (!tokenizer.worksByLine()) limits.fragment = limits.document;
  return limits;
}

/// Conversations cost more than their bytes: they are rendered several times.
Bytes costOf(const RecordBatches::Part& part) {
  if (!part.document.conversation) return static_cast<Bytes>(part.document.text.size() + 64);
  return static_cast<Bytes>(4 * part.document.conversation->contents().size() + 4096);
}

} // namespace

RecordBatches::RecordBatches(FileSystem& files, PacedPool& pool, Log& log, std::vector<SourceFile> sources,
                             RecordLimits limits, std::int64_t badRowLimit, const SourcePosition& from,
                             const CachedCounts& before)
    : m_pool(pool),
      m_firstFile(std::min<std::size_t>(from.file, sources.size())),
      m_reader(files, {sources.begin() + static_cast<std::ptrdiff_t>(m_firstFile), sources.end()}, limits),
      m_judge(m_reader.sources(), badRowLimit, log, before.badRows),
      m_counts(before),
      m_position(from),
      m_skip(from.record) {}

std::optional<std::string> RecordBatches::hashOf(std::size_t file) const {
  if (file < m_firstFile || file - m_firstFile >= m_reader.hashes().size()) return std::nullopt;
  return m_reader.hashes()[file - m_firstFile];
}

/// False when there is none left.
Result<bool> RecordBatches::read(std::vector<RawRecord>& records, std::vector<Place>& places) {
  const Bytes wanted = batchBytesPerThread * m_pool.threads();
  for (Bytes size = 0; size < wanted && records.size() < batchRecords;) {
    RawRecord record;
    MILLRACE_TRY(const bool got, m_reader.next(record));
    if (!got) break;
    size += static_cast<Bytes>(record.bytes.size());
    if (m_skip > 0 && record.file == 0) {
      --m_skip;
      continue;
    }
    const std::uint64_t file = m_firstFile + record.file;
    m_position = {file, file == m_position.file ? m_position.record + 1 : 1};
    places.push_back({record.file, record.line, record.first, record.last, m_position});
    records.push_back(std::move(record));
  }
  return !records.empty();
}

Result<std::vector<RecordBatches::Part>> RecordBatches::next() {
  std::vector<Part> parts;
  while (parts.empty()) {
    std::vector<RawRecord> records;
    std::vector<Place> places;
    MILLRACE_TRY(const bool any, read(records, places));
    if (!any) {
      MILLRACE_CHECK(m_judge.finish());
      break;
    }
    const auto starts =
        cutIntoTasks(records, [](const RawRecord& record) { return static_cast<Bytes>(record.bytes.size() + 64); });
    std::vector<DecodedRecord> decoded(records.size());
    m_pool.parallelFor(static_cast<std::int64_t>(starts.size()) - 1, [&](std::int64_t task) {
      const auto t = static_cast<std::size_t>(task);
      for (std::size_t i = starts[t]; i < starts[t + 1]; ++i)
        decoded[i] = decodeRecord(m_reader.sources()[places[i].file], std::move(records[i]));
    });
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      MILLRACE_CHECK(m_judge.judge(places[i].file, places[i].line, decoded[i]));
      m_counts.badRows = m_judge.bad();
      m_counts.repairedSequences += decoded[i].repaired;
      if (decoded[i].kind == DecodedRecord::Kind::Empty) ++m_counts.emptyDocuments;
      if (decoded[i].kind == DecodedRecord::Kind::OtherSet) ++m_counts.otherSets;
      if (decoded[i].kind == DecodedRecord::Kind::Document)
        parts.push_back({{std::move(decoded[i].text), std::move(decoded[i].conversation), std::move(decoded[i].set),
                          places[i].file, places[i].line, places[i].first, places[i].last},
                         places[i].next,
                         m_counts});
    }
  }
  return parts;
}

Status RecordBatches::refuse(const SourceDocument& document, const std::string& problem) {
  MILLRACE_CHECK(m_judge.count(document.file, document.line, problem));
  m_counts.badRows = m_judge.bad();
  return {};
}

TokenStream::TokenStream(FileSystem& files, PacedPool& pool, Log& log, std::vector<SourceFile> sources,
                         std::int64_t badRowLimit, const Tokenizer& tokenizer,
                         std::shared_ptr<const ConversationTokens> chat, std::int32_t endOfText,
                         const SourcePosition& from, const CachedCounts& before)
    : m_pool(pool),
      m_batches(files, pool, log, std::move(sources), recordLimitsFor(tokenizer), badRowLimit, from, before),
      m_tokens(tokenizer, std::move(chat)),
      m_endOfText(endOfText) {}

CachedCounts TokenStream::counts() const {
  CachedCounts counts = m_batches.counts();
  counts.emptyDocuments += m_emptyEncodings;
  counts.conversations += m_conversations;
  return counts;
}

Result<const TokenPiece*> TokenStream::peek() {
  bool ended = false;
  while (m_pieces.empty() && !ended) {
    MILLRACE_TRY(const auto parts, m_batches.next());
    ended = parts.empty();
    MILLRACE_CHECK(encode(parts));
  }
  return m_pieces.empty() ? nullptr : &m_pieces.front();
}

Status TokenStream::encode(const std::vector<RecordBatches::Part>& parts) {
  const auto starts = cutIntoTasks(parts, costOf);
  std::vector<TokenizedRecord> records(parts.size());
  std::vector<Status> outcomes(starts.size() - 1);
  m_pool.parallelFor(static_cast<std::int64_t>(outcomes.size()), [&](std::int64_t task) {
    const auto t = static_cast<std::size_t>(task);
    for (std::size_t i = starts[t]; i < starts[t + 1] && outcomes[t]; ++i)
      outcomes[t] =
          m_tokens.tokenize(parts[i].document).map([&](TokenizedRecord record) { records[i] = std::move(record); });
  });
  for (const Status& outcome : outcomes) MILLRACE_CHECK(outcome);
  std::int64_t refused = 0; // of these parts, whose counts do not know of it
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!records[i].problem.empty()) {
      MILLRACE_CHECK(m_batches.refuse(parts[i].document, records[i].problem));
      ++refused;
    }
    m_conversations += records[i].counts;
    add(parts[i], std::move(records[i]), refused);
  }
  return {};
}

void TokenStream::add(const RecordBatches::Part& part, TokenizedRecord record, std::int64_t refused) {
  bool beginsRecord = true;
  for (TokenizedDocument& document : record.documents) {
    // Of a document that comes in parts the first part decides; others may not be in memory together with it.
    const bool first = part.document.first, last = part.document.last;
    if (first) {
      m_facts = std::move(document.facts);
      m_begun = false;
    } else {
      m_facts.textBytes += document.facts.textBytes;
    }
    const bool begins = !m_begun;
    m_begun = m_begun || !document.ids.empty();
    if (last && !m_begun) ++m_emptyEncodings;
    if (!m_begun) continue;
    if (last && !record.complete) document.ids.push_back(m_endOfText);
    if (document.ids.empty()) continue;
    TokenPiece piece;
    piece.ids = std::move(document.ids);
    piece.first = begins;
    piece.last = last;
    piece.beginsRecord = beginsRecord;
    piece.facts = m_facts;
    piece.set = part.document.set;
    piece.next = part.next;
    piece.counts = part.counts;
    piece.counts.badRows += refused;
    piece.counts.emptyDocuments += m_emptyEncodings;
    piece.counts.conversations += m_conversations;
    m_pieces.push_back(std::move(piece));
    beginsRecord = false;
  }
}

} // namespace millrace
