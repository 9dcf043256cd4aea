// A folder of shards of random documents in memory, and series that have some or all of them.
#pragma once

#include "data/shard_series.h"
#include "support/memory_file_system.h"
#include "support/token_documents.h"

namespace millrace::test {

constexpr double shardFolderHeldBack = 0.2;

class ShardFolder {
 public:
  explicit ShardFolder(std::size_t count, std::uint64_t seed = 1) : m_count(count) {
    for (std::size_t i = 0; i < count; ++i) {
      ShardPlace place;
      place.index = i;
      place.last = i + 1 == count;
      valueOrThrow(writeShard(m_files, series()->pathOf(i), randomDocuments(20 + 7 * (i % 3), seed * 100 + i), place));
    }
  }
  std::shared_ptr<ShardSeries> series(std::size_t shards = 0) {
    auto series = std::make_shared<ShardSeries>(m_files, "/", shardKey(), documentVocabulary, shardFolderHeldBack);
    while (series->shards() < shards) addNext(*series);
    return series;
  }
  std::shared_ptr<ShardSeries> all() { return series(m_count); }
  void addNext(ShardSeries& series) { series.add(*valueOrThrow(series.open(series.shards()))); }
  std::size_t count() const { return m_count; }

 private:
  std::size_t m_count;
  MemoryFileSystem m_files;
};

} // namespace millrace::test
