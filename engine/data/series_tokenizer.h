// SeriesTokenizer: fills a ShardSeries shard by shard, from files that are there and good, and else by tokenizing the
// sources from where the shard before ended. So what was interrupted goes on behind its last whole shard, and a damaged
// one is made anew. Shards are the same whichever way they come about. One thread.
#pragma once

#include "data/shard_series.h"
#include "data/source_identity.h"
#include "data/token_shard_writer.h"
#include "data/tokenize_sources.h"

namespace millrace {

struct SeriesTask {
  std::shared_ptr<ShardSeries> series;
  std::vector<SourceFile> sources;
  SourceIdentity identity; ///< of the sources
  std::int64_t badRowLimit = 0;
  ShardLimits limits;
  std::int32_t endOfText = 0;
  std::shared_ptr<const ConversationTokens> chat; ///< null where no source holds conversations
};

class SeriesTokenizer {
 public:
  /// hurried: whether somebody waits, which decides how much of the pool is used. All must outlive this.
  SeriesTokenizer(ThreadPool& pool, Log& log, const Tokenizer& tokenizer, SeriesTask task,
                  std::function<bool()> hurried);

  /// Adds the next shard to the series; false when it is complete. Errors name the file. stop: Interrupted when it
  /// answers true. Nothing is left of a shard that was not finished, and it may be tried again.
  Result<bool> next(const std::function<bool()>& stop);
  ShardSeries& series() { return *m_task.series; }

 private:
  /// The shard as it lies in the folder; null where it has to be made.
  Result<std::shared_ptr<const TokenShard>> existing(const std::function<bool()>& stop);
  Status make(const std::function<bool()>& stop);
  /// Whether the files are still those of the identity, up to the one with this number.
  Status checkSources(std::size_t last);
  void tell(DataProgress::Phase phase, Bytes done);

  FileSystem& m_files;
  PacedPool m_pool;
  Log& m_log;
  const Tokenizer& m_tokenizer;
  const SeriesTask m_task;
  std::optional<TokenStream> m_stream; ///< stands behind the last shard, if it is there
  std::size_t m_index = 0;
  SourcePosition m_position;
  CachedCounts m_counts;
  std::vector<std::string> m_setNames = {""};
  std::int64_t m_documents = 0;
  std::int64_t m_tokens = 0;
  std::size_t m_checkedFiles = 0; ///< that were read to their end and had the contents of the identity
  std::vector<Path> m_made;       ///< by this
  bool m_done = false;
};

} // namespace millrace
