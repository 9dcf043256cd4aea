// Source files to a token cache, over the pool, in an order that does not depend on the threads.
#pragma once

#include "base/thread_pool.h"
#include "data/document_tokens.h"
#include "data/row_judge.h"
#include "data/set_names.h"
#include "data/token_shard_writer.h"

namespace millrace {

/// Reads records in batches and calls work(first, count) results in order; shared by tokenizing and tokenizer training.
class RecordBatches {
 public:
  RecordBatches(FileSystem& files, ThreadPool& pool, Log& log, std::vector<SourceFile> sources, RecordLimits limits,
                std::int64_t badRowLimit);

  /// The next batch of usable documents or parts of documents, decoded over the pool; empty at the end. Unusable rows
  /// are counted and left out.
  Result<std::vector<SourceDocument>> next();
  /// Counts the row of a document that next() gave as unusable after all.
  Status refuse(const SourceDocument& document, const std::string& problem);

  RecordReader& reader() { return m_reader; }
  const CachedCounts& counts() const { return m_counts; }
  /// Names of sets that were met and not asked for, the first of them.
  const std::vector<std::string>& otherSets() const { return m_judge.otherSets(); }

 private:
  ThreadPool& m_pool;
  RecordReader m_reader;
  RowJudge m_judge;
  CachedCounts m_counts;
};

/// Writes every document, those of plain text with endOfText behind them. expectedHashes: of the files, to find out
/// when one changes meanwhile. Fails when there is no document to learn from.
Status tokenizeSources(FileSystem& files, ThreadPool& pool, Log& log, const std::vector<SourceFile>& sources,
                       const std::vector<std::string>& expectedHashes, std::int64_t badRowLimit,
                       const Tokenizer& tokenizer, std::shared_ptr<const ConversationTokens> chat,
                       std::int32_t endOfText, const DataProgressCallback& progress, Bytes totalBytes,
                       TokenShardWriter& writer);

} // namespace millrace
