// ShardSeries: the shards of one tokenized source, which may still be growing: whoever tokenizes adds shards, and
// whoever trains or evaluates waits for them. Any thread; one of them adds.
#pragma once

#include "base/mutex.h"
#include "data/data_spec.h"
#include "data/token_shard.h"

namespace millrace {

/// What is known of a shard without opening it.
struct ShardFacts {
  std::int64_t documents = 0;
  std::int64_t validationDocuments = 0;
  std::int64_t trainingTokens = 0; ///< end-of-text tokens included
  std::int64_t validationTokens = 0;
  std::int64_t trainingTargets = 0; ///< tokens of them that are learnt
  std::int64_t textBytes = 0;

  ShardFacts& operator+=(const ShardFacts& other);
};

/// Whether a document with this hash of its text is held back.
bool isValidationDocument(std::uint64_t hash, double validationFraction);

class ShardSeries {
 public:
  /// Shards lie in the folder; key: 32 digits that say what they belong to.
  ShardSeries(FileSystem& files, Path folder, std::string key, std::int64_t vocabularySize, double validationFraction);

  FileSystem& files() const { return m_files; }
  const Path& folder() const { return m_folder; }
  const std::string& key() const { return m_key; }
  std::int64_t vocabularySize() const { return m_vocabularySize; }
  double validationFraction() const { return m_validationFraction; }
  Path pathOf(std::size_t shard) const;

  std::size_t shards() const;
  /// No shard will be added.
  bool complete() const;
  ShardFacts facts(std::size_t shard) const;
  /// Of all shards so far.
  ShardFacts total() const;
  CachedCounts counts() const;
  DataProgress progress() const;
  /// Of the shards so far: that none of their documents is left to train on.
  Error nothingToTrainOn() const;
  /// Opens a shard that was added; its contents were checked then.
  Result<std::shared_ptr<const TokenShard>> open(std::size_t shard) const;

  /// Blocks until there are so many shards or all; the error of who tokenizes, should that fail. waiting: called now
  /// and then meanwhile; false gives up with Interrupted.
  Status waitFor(std::size_t shards, const DataProgressCallback& waiting) const;
  Status waitUntilComplete(const DataProgressCallback& waiting) const;
  /// Why no more shards will come although some are missing.
  Status failure() const;
  /// Whether somebody waits.
  bool awaited() const;

  // For whoever tokenizes.
  /// The next shard, checked; the last one completes the series.
  void add(const TokenShard& shard);
  void setProgress(const DataProgress& progress);
  void fail(Error error);

 private:
  FileSystem& m_files;
  const Path m_folder;
  const std::string m_key;
  const std::int64_t m_vocabularySize;
  const double m_validationFraction;

  mutable Mutex m_mutex;
  mutable Condition m_changed;
  std::vector<ShardFacts> m_facts MILLRACE_GUARDED_BY(m_mutex);
  ShardFacts m_total MILLRACE_GUARDED_BY(m_mutex);
  CachedCounts m_counts MILLRACE_GUARDED_BY(m_mutex);
  DataProgress m_progress MILLRACE_GUARDED_BY(m_mutex);
  bool m_complete MILLRACE_GUARDED_BY(m_mutex) = false;
  Status m_failure MILLRACE_GUARDED_BY(m_mutex);
  mutable int m_waiting MILLRACE_GUARDED_BY(m_mutex) = 0;
};

} // namespace millrace
