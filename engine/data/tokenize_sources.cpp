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

} // namespace

RecordBatches::RecordBatches(FileSystem& files, ThreadPool& pool, Log& log, std::vector<SourceFile> sources,
                             RecordLimits limits, std::int64_t badRowLimit)
    : m_pool(pool), m_reader(files, std::move(sources), limits), m_judge(m_reader.sources(), badRowLimit, log) {}

Result<std::vector<RecordBatches::Part>> RecordBatches::next() {
  std::vector<Part> parts;
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
      if (decoded[i].kind == DecodedRecord::Kind::Text)
        parts.push_back({std::move(decoded[i].text), places[i].first, places[i].last});
    }
  }
  m_counts.badRows = m_judge.bad();
  return parts;
}

Status tokenizeSources(FileSystem& files, ThreadPool& pool, Log& log, const std::vector<SourceFile>& sources,
                       const std::vector<std::string>& expectedHashes, std::int64_t badRowLimit,
                       const Tokenizer& tokenizer, std::int32_t endOfText, const DataProgressCallback& progress,
                       Bytes totalBytes, TokenShardWriter& writer) {
  RecordLimits limits;
  if (!tokenizer.worksByLine()) limits.fragment = limits.document;
  RecordBatches batches(files, pool, log, sources, limits, badRowLimit);
  DocumentFacts facts;
  std::int64_t emptyEncodings = 0;
  std::int64_t documentStart = 0;
  for (;;) {
    MILLRACE_TRY(const auto parts, batches.next());
    if (parts.empty()) break;
    const auto starts =
        cutIntoTasks(parts, [](const RecordBatches::Part& part) { return static_cast<Bytes>(part.text.size() + 64); });
    struct Encoded {
      std::vector<std::int32_t> ids;
      std::vector<std::size_t> ends; ///< of each part in ids
      Status status;
    };
    std::vector<Encoded> encoded(starts.size() - 1);
    pool.parallelFor(static_cast<std::int64_t>(encoded.size()), [&](std::int64_t task) {
      const auto t = static_cast<std::size_t>(task);
      Encoded& out = encoded[t];
      for (std::size_t i = starts[t]; i < starts[t + 1] && out.status; ++i) {
        out.status = tokenizer.encode(parts[i].text, false, out.ids);
        out.ends.push_back(out.ids.size());
      }
    });
    for (std::size_t t = 0; t < encoded.size(); ++t) {
      MILLRACE_CHECK(encoded[t].status);
      std::size_t from = 0;
      for (std::size_t i = starts[t]; i < starts[t + 1]; ++i) {
        const RecordBatches::Part& part = parts[i];
        const std::size_t end = encoded[t].ends[i - starts[t]];
        if (part.first) {
          // Of a document that comes in parts the first part decides; others may not be in memory together with it.
          facts = {};
          facts.hash = hash64(part.text);
          documentStart = writer.tokens();
        }
        facts.textBytes += part.text.size();
        MILLRACE_CHECK(writer.append(std::span(encoded[t].ids).subspan(from, end - from)));
        from = end;
        if (!part.last) continue;
        if (writer.tokens() == documentStart) {
          ++emptyEncodings;
          continue;
        }
        MILLRACE_CHECK(writer.append(std::span(&endOfText, 1)));
        writer.endDocument(facts);
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
  CachedCounts counts = batches.counts();
  counts.emptyDocuments += emptyEncodings;
  if (writer.documents() == 0)
    return tl::unexpected<Error>(noDocuments(sources.size(), counts.emptyDocuments, counts.badRows));
  const std::string unnamed;
  ShardPlace place;
  place.counts = counts;
  return writer.finish(place, std::span(&unnamed, 1));
}

} // namespace millrace
