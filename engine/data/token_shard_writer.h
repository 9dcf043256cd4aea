// Writes one TokenShard, aside. Without finish() nothing is left under the final name. One thread.
#pragma once

#include "base/hash.h"
#include "data/token_shard.h"

namespace millrace {

class TokenShardWriter {
 public:
  /// key: 32 digits that say what the shard belongs to.
  static Result<TokenShardWriter> create(FileSystem& files, const Path& path, std::string key,
                                         std::int64_t vocabularySize);
  ~TokenShardWriter();
  TokenShardWriter(TokenShardWriter&&) noexcept;
  TokenShardWriter& operator=(TokenShardWriter&&) = delete;

  /// More tokens of the document that endDocument() will end.
  Status append(std::span<const std::int32_t> ids);
  /// The document has at least one token; its ranges lie in it.
  void endDocument(const DocumentFacts& facts);
  std::int64_t tokens() const { return m_tokens; }
  std::int64_t documents() const { return static_cast<std::int64_t>(m_documents.size()); }
  /// Whether the next document belongs to another shard.
  bool full(const ShardLimits& limits) const;
  /// Flushes and renames. setNames: of all indexes that documents have, the first is empty.
  Status finish(const ShardPlace& place, std::span<const std::string> setNames);

 private:
  TokenShardWriter(FileSystem& files, Path path, Path partial, std::unique_ptr<File> file, std::string key,
                   int tokenBytes);
  Status write(std::span<const std::byte> bytes);
  Status flush();

  FileSystem* m_files;
  Path m_path;
  Path m_partial;
  std::unique_ptr<File> m_file;
  std::string m_key;
  int m_tokenBytes;
  Bytes m_written = 0;
  Hasher128 m_hasher;
  std::vector<std::byte> m_buffer;
  std::int64_t m_tokens = 0;
  std::uint64_t m_documentStart = 0;
  std::vector<CachedDocument> m_documents;
  std::vector<TokenRange> m_ranges;
};

} // namespace millrace
