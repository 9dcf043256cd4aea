#include "data/tokenize_sources.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>

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

/// Conversations cost more than their bytes: they are rendered several times.
Bytes sizeOf(const SourceDocument& document) {
  if (!document.conversation) return static_cast<Bytes>(document.text.size() + 64);
  return static_cast<Bytes>(4 * document.conversation->contents().size() + 4096);
}

} // namespace

RecordBatches::RecordBatches(FileSystem& files, ThreadPool& pool, Log& log, std::vector<SourceFile> sources,
                             RecordLimits limits, std::int64_t badRowLimit)
    : m_pool(pool), m_reader(files, std::move(sources), limits), m_judge(m_reader.sources(), badRowLimit, log) {}

Result<std::vector<SourceDocument>> RecordBatches::next() {
  std::vector<SourceDocument> parts;
  while (parts.empty()) {
    std::vector<RawRecord> records;
    const Bytes wanted = batchBytesPerThread * m_pool.threads();
    for (Bytes size = 0; size < wanted && records.size() < batchRecords;) {
      RawRecord record;
      MILLRACE_TRY(const bool got, m_reader.next(record));
      if (!got) break;
      size += static_cast<Bytes>(record.bytes.size());
      records.push_back(std::move(record));
    }
    if (records.empty()) {
      MILLRACE_CHECK(m_judge.finish());
      break;
    }
    const auto starts =
        cutIntoTasks(records, [](const RawRecord& record) { return static_cast<Bytes>(record.bytes.size() + 64); });
    struct Place {
      std::size_t file;
      std::int64_t line;
      bool first;
      bool last;
    };
    std::vector<Place> places;
    for (const RawRecord& record : records) places.push_back({record.file, record.line, record.first, record.last});
    std::vector<DecodedRecord> decoded(records.size());
    m_pool.parallelFor(static_cast<std::int64_t>(starts.size()) - 1, [&](std::int64_t task) {
      const auto t = static_cast<std::size_t>(task);
      for (std::size_t i = starts[t]; i < starts[t + 1]; ++i)
        decoded[i] = decodeRecord(m_reader.sources()[places[i].file], std::move(records[i]));
    });
    for (std::size_t i = 0; i < decoded.size(); ++i) {
      MILLRACE_CHECK(m_judge.judge(places[i].file, places[i].line, decoded[i]));
      m_counts.repairedSequences += decoded[i].repaired;
      if (decoded[i].kind == DecodedRecord::Kind::Empty) ++m_counts.emptyDocuments;
      if (decoded[i].kind == DecodedRecord::Kind::Document)
        parts.push_back({std::move(decoded[i].text), std::move(decoded[i].conversation), std::move(decoded[i].set),
                         places[i].file, places[i].line, places[i].first, places[i].last});
    }
  }
  m_counts.badRows = m_judge.bad();
  m_counts.otherSets = m_judge.ofOtherSets();
  return parts;
}

Status RecordBatches::refuse(const SourceDocument& document, const std::string& problem) {
  MILLRACE_CHECK(m_judge.count(document.file, document.line, problem));
  m_counts.badRows = m_judge.bad();
  return {};
}

namespace {

/// Hands pieces of documents to the writer in the order of the sources, with what belongs between documents.
class DocumentWriter {
 public:
  DocumentWriter(TokenShardWriter& writer, std::int32_t endOfText) : m_writer(writer), m_endOfText(endOfText) {}

  Status add(const TokenizedPiece& piece, std::span<const std::int32_t> ids, const std::string& set) {
    if (piece.first) {
      // Of a document that comes in parts the first part decides; others may not be in memory together with it.
      m_facts = piece.facts;
      m_facts.set = m_sets.indexOf(set);
      m_start = m_writer.tokens();
    } else {
      m_facts.textBytes += piece.facts.textBytes;
    }
    MILLRACE_CHECK(m_writer.append(ids));
    if (!piece.last) return {};
    if (m_writer.tokens() == m_start) {
      ++m_empty;
      return {};
    }
    if (!piece.complete) MILLRACE_CHECK(m_writer.append(std::span(&m_endOfText, 1)));
    m_writer.endDocument(m_facts);
    return {};
  }
  std::int64_t empty() const { return m_empty; }
  std::span<const std::string> setNames() const { return m_sets.names(); }

 private:
  TokenShardWriter& m_writer;
  std::int32_t m_endOfText;
  SetNames m_sets;
  DocumentFacts m_facts; ///< of the document that is open
  std::int64_t m_start = 0;
  std::int64_t m_empty = 0;
};

} // namespace

Status tokenizeSources(FileSystem& files, ThreadPool& pool, Log& log, const std::vector<SourceFile>& sources,
                       const std::vector<std::string>& expectedHashes, std::int64_t badRowLimit,
                       const Tokenizer& tokenizer, std::shared_ptr<const ConversationTokens> chat,
                       std::int32_t endOfText, const DataProgressCallback& progress, Bytes totalBytes,
                       TokenShardWriter& writer) {
  RecordLimits limits;
  if (!tokenizer.worksByLine()) limits.fragment = limits.document;
  RecordBatches batches(files, pool, log, sources, limits, badRowLimit);
  const DocumentTokens tokens(tokenizer, std::move(chat));
  DocumentWriter documents(writer, endOfText);
  ConversationCounts conversations;
  for (;;) {
    MILLRACE_TRY(const auto parts, batches.next());
    if (parts.empty()) break;
    const auto starts = cutIntoTasks(parts, [](const SourceDocument& part) { return sizeOf(part); });
    std::vector<TokenizedPieces> tokenized(starts.size() - 1);
    std::vector<Status> outcomes(tokenized.size());
    pool.parallelFor(static_cast<std::int64_t>(tokenized.size()), [&](std::int64_t task) {
      const auto t = static_cast<std::size_t>(task);
      for (std::size_t i = starts[t]; i < starts[t + 1] && outcomes[t]; ++i)
        outcomes[t] = tokens.append(parts[i], tokenized[t]);
    });
    for (std::size_t t = 0; t < tokenized.size(); ++t) {
      MILLRACE_CHECK(outcomes[t]);
      const TokenizedPieces& found = tokenized[t];
      conversations += found.counts;
      std::size_t from = 0, piece = 0;
      for (std::size_t i = starts[t]; i < starts[t + 1]; ++i) {
        const std::size_t slot = i - starts[t];
        if (!found.problems[slot].empty()) MILLRACE_CHECK(batches.refuse(parts[i], found.problems[slot]));
        for (; piece < found.ends[slot]; ++piece) {
          const std::size_t end = found.pieces[piece].end;
          MILLRACE_CHECK(
              documents.add(found.pieces[piece], std::span(found.ids).subspan(from, end - from), parts[i].set));
          from = end;
        }
      }
    }
    const DataProgress now{DataProgress::Phase::Tokenizing, batches.reader().bytesRead(), totalBytes,
                           writer.documents(), writer.tokens()};
    if (progress && !progress(now)) return failure(ErrorKind::Interrupted, "the preparation of the data was stopped");
  }
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (batches.reader().hashes()[i] != expectedHashes[i])
      return failed(
          fmt::format("{}: changed while it was read; start again when it is complete", sources[i].path.string()));
  ShardPlace place;
  place.counts = batches.counts();
  place.counts.emptyDocuments += documents.empty();
  place.counts.conversations = conversations;
  if (writer.documents() == 0)
    return tl::unexpected<Error>(noDocuments(sources.size(), place.counts, batches.otherSets()));
  return writer.finish(place, documents.setNames());
}

} // namespace millrace
