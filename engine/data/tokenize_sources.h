// Source files to a token cache, over the pool, in an order that does not depend on the threads.
#pragma once

#include "base/thread_pool.h"
#include "data/record_decoder.h"
#include "data/token_shard_writer.h"
#include "text/tokenizer.h"

namespace millrace {

/// Reads records in batches and calls work(first, count) results in order; shared by tokenizing and tokenizer training.
class RecordBatches {
 public:
  RecordBatches(FileSystem& files, ThreadPool& pool, Log& log, std::vector<SourceFile> sources, RecordLimits limits,
                std::int64_t badRowLimit);

  /// The next batch of usable documents or parts of documents, decoded over the pool; empty at the end. Unusable rows
  /// are counted and left out.
  struct Part {
    std::string text;
    bool first = true;
    bool last = true;
  };
  Result<std::vector<Part>> next();

  RecordReader& reader() { return m_reader; }
  const CachedCounts& counts() const { return m_counts; }

 private:
  ThreadPool& m_pool;
  RecordReader m_reader;
  RowJudge m_judge;
  CachedCounts m_counts;
};

/// Writes every document, each with endOfText behind it. expectedHashes: of the files, to find out when one changes
/// meanwhile. Fails when there is no document.
Status tokenizeSources(FileSystem& files, ThreadPool& pool, Log& log, const std::vector<SourceFile>& sources,
                       const std::vector<std::string>& expectedHashes, std::int64_t badRowLimit,
                       const Tokenizer& tokenizer, std::int32_t endOfText, const DataProgressCallback& progress,
                       Bytes totalBytes, TokenShardWriter& writer);

} // namespace millrace
