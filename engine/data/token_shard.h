// TokenShard: documents as token ids in one file, a piece of a tokenized source. Written aside and renamed (see
// TokenShardWriter); checked wholly when opened, and then only read. Its tables are in memory while it is open, which
// the limits of a shard bound.
#pragma once

#include "base/file.h"
#include "data/tokenized_document.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace millrace {

/// When a shard has one of these it is full: the next document begins another.
struct ShardLimits {
  std::int64_t tokens = 1 << 24;
  std::int64_t documents = 1 << 18;
  std::int64_t ranges = 1 << 20;
};

/// How many sets may have names, and how long a name may be.
constexpr std::size_t mostSets = 4096;
constexpr std::size_t longestSetName = 1024;

struct CachedDocument {
  std::uint64_t firstToken = 0;
  std::uint64_t hash = 0; ///< XXH3-64 of the text
  std::uint64_t textBytes = 0;
  std::uint32_t firstRange = 0; ///< of what is learnt
  std::uint16_t set = 0;
  std::uint16_t wholeLearnt = 1; ///< 0: its ranges say what is learnt
};

/// What was met while the documents were read.
struct CachedCounts {
  std::int64_t badRows = 0;
  std::int64_t emptyDocuments = 0;
  std::int64_t repairedSequences = 0; ///< invalid UTF-8 replaced by U+FFFD
  std::int64_t otherSets = 0;         ///< rows of sets that were not asked for
  ConversationCounts conversations;
  bool operator==(const CachedCounts&) const = default;
  CachedCounts& operator+=(const CachedCounts& other) {
    badRows += other.badRows;
    emptyDocuments += other.emptyDocuments;
    repairedSequences += other.repairedSequences;
    otherSets += other.otherSets;
    conversations += other.conversations;
    return *this;
  }
};

/// A place between two records of the sources.
struct SourcePosition {
  std::uint64_t file = 0;   ///< index into the list of files
  std::uint64_t record = 0; ///< of that file that were read
  bool operator==(const SourcePosition&) const = default;
};

/// How a shard stands among the others of its sources.
struct ShardPlace {
  std::uint64_t index = 0;
  bool last = true;    ///< no shard follows
  SourcePosition next; ///< where the next one begins
  CachedCounts counts; ///< from the beginning of the sources to the end of this shard
};

enum class ShardCheck {
  Whole,  ///< the checksum of all and the range of the ids too
  Tables, ///< the tokens are not read: they were checked before
};

/// Read-only and immutable; any thread.
class TokenShard {
 public:
  /// Called with the bytes that were checked since the last call.
  using Progress = std::function<Status(Bytes)>;

  /// Opens and checks magic, version, sizes, key, order of documents and ranges, and what `check` says. Any failure but
  /// Interrupted means that the file is to be made anew.
  static Result<std::shared_ptr<const TokenShard>> open(FileSystem& files, const Path& path, const std::string& key,
                                                        std::int64_t vocabularySize,
                                                        ShardCheck check = ShardCheck::Whole,
                                                        const Progress& progress = {});

  std::int64_t tokens() const { return m_tokens; }
  const std::vector<CachedDocument>& documents() const { return m_documents; }
  /// Tokens of document i, its end-of-text token included.
  std::int64_t length(std::size_t i) const;
  /// The ranges of document i's tokens that are learnt, where not all of it is.
  std::span<const TokenRange> learnt(std::size_t i) const;
  /// By index; the first is empty. Those of all shards up to this one.
  const std::vector<std::string>& setNames() const { return m_setNames; }
  const ShardPlace& place() const { return m_place; }
  /// Reads ids [first, first + out.size()).
  Status read(std::int64_t first, std::span<std::int32_t> out) const;

 private:
  TokenShard() = default;
  /// What stands behind the tokens, once the checksum is known to be right.
  Status checkTables() const;

  std::unique_ptr<File> m_file;
  std::string m_name;
  std::int64_t m_tokens = 0;
  int m_tokenBytes = 4;
  std::vector<CachedDocument> m_documents;
  std::vector<TokenRange> m_ranges;
  std::vector<std::string> m_setNames;
  ShardPlace m_place;
};

} // namespace millrace
