// TokenCache: documents as token ids in one file, so that text is tokenized once. Written aside and renamed; checked
// wholly when opened, and then only read.
//
// Layout (little endian): a header of 64 bytes; token ids, 2 or 4 bytes each; 24 bytes per document (first token, hash
// of its text, bytes of its text); a footer with counts, the key, the XXH3-128 of all before it, and its own XXH3-64.
#pragma once

#include "base/file.h"
#include "base/hash.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace millrace {

struct CachedDocument {
  std::uint64_t firstToken = 0;
  std::uint64_t hash = 0; ///< XXH3-64 of the text
  std::uint64_t textBytes = 0;
};

/// What was met while the documents were read.
struct CachedCounts {
  std::int64_t badRows = 0;
  std::int64_t emptyDocuments = 0;
  std::int64_t repairedSequences = 0; ///< invalid UTF-8 replaced by U+FFFD
};

/// Read-only and immutable; any thread.
class TokenCache {
 public:
  /// Called with the bytes that were checked since the last call.
  using Progress = std::function<Status(Bytes)>;

  /// Opens and checks everything: magic, version, sizes, key, checksums, order of the documents, range of the ids. Any
  /// failure means that the file is to be made anew.
  static Result<std::shared_ptr<const TokenCache>> open(FileSystem& files, const Path& path, const std::string& key,
                                                        std::int64_t vocabularySize, const Progress& progress);

  std::int64_t tokens() const { return m_tokens; }
  const std::vector<CachedDocument>& documents() const { return m_documents; }
  /// Tokens of document i, its end-of-text token included.
  std::int64_t length(std::size_t i) const;
  const CachedCounts& counts() const { return m_counts; }
  /// Reads ids [first, first + out.size()).
  Status read(std::int64_t first, std::span<std::int32_t> out) const;

 private:
  TokenCache() = default;
  std::unique_ptr<File> m_file;
  std::string m_name;
  std::int64_t m_tokens = 0;
  int m_tokenBytes = 4;
  std::vector<CachedDocument> m_documents;
  CachedCounts m_counts;
};

/// Writes a TokenCache. Without finish() nothing is left under the final name. One thread.
class TokenCacheWriter {
 public:
  static Result<TokenCacheWriter> create(FileSystem& files, const Path& path, std::string key,
                                         std::int64_t vocabularySize);
  ~TokenCacheWriter();
  TokenCacheWriter(TokenCacheWriter&&) noexcept;
  TokenCacheWriter& operator=(TokenCacheWriter&&) = delete;

  /// More tokens of the document that endDocument() will end.
  Status append(std::span<const std::int32_t> ids);
  void endDocument(std::uint64_t hash, std::uint64_t textBytes);
  std::int64_t tokens() const { return m_tokens; }
  std::int64_t documents() const { return static_cast<std::int64_t>(m_documents.size()); }
  /// Flushes and renames.
  Status finish(const CachedCounts& counts);

 private:
  TokenCacheWriter(FileSystem& files, Path path, Path partial, std::unique_ptr<File> file, std::string key,
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
};

} // namespace millrace
