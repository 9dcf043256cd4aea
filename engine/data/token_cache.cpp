#include "data/token_cache.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <type_traits>
#include <unistd.h>

namespace millrace {

namespace {

constexpr std::array<char, 8> headerMagic = {'M', 'R', 'T', 'O', 'K', 'E', 'N', 'S'};
constexpr std::array<char, 8> footerMagic = {'M', 'R', 'T', 'O', 'K', 'E', 'N', 'D'};
constexpr std::uint32_t formatVersion = 1;
constexpr Bytes pieceSize = 4 * MiB;

struct Header {
  std::array<char, 8> magic = headerMagic;
  std::uint32_t version = formatVersion;
  std::uint32_t tokenBytes = 0;
  std::array<std::uint64_t, 6> reserved = {};
};
static_assert(sizeof(Header) == 64 && std::is_trivially_copyable_v<Header>);

struct Footer {
  std::array<char, 8> magic = footerMagic;
  std::uint32_t version = formatVersion;
  std::uint32_t tokenBytes = 0;
  std::uint64_t tokens = 0;
  std::uint64_t documents = 0;
  std::uint64_t badRows = 0;
  std::uint64_t emptyDocuments = 0;
  std::uint64_t repairedSequences = 0;
  std::array<char, 32> key = {};
  std::array<char, 32> checksum = {};
  std::uint64_t ownHash = 0;
};
static_assert(sizeof(Footer) == 128 && std::is_trivially_copyable_v<Footer>);
static_assert(sizeof(CachedDocument) == 24 && std::is_trivially_copyable_v<CachedDocument>);

template <class Value>
std::string_view rawBytes(const Value& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::uint64_t footerHash(const Footer& footer) {
  return hash64(rawBytes(footer).substr(0, sizeof(Footer) - sizeof footer.ownHash));
}

template <std::size_t N>
std::string text(const std::array<char, N>& characters) {
  return std::string(characters.data(), N);
}

int tokenBytesFor(std::int64_t vocabularySize) {
  return vocabularySize <= 65536 ? 2 : 4;
}

} // namespace

std::int64_t TokenCache::length(std::size_t i) const {
  const std::uint64_t end =
      i + 1 < m_documents.size() ? m_documents[i + 1].firstToken : static_cast<std::uint64_t>(m_tokens);
  return static_cast<std::int64_t>(end - m_documents[i].firstToken);
}

Status TokenCache::read(std::int64_t first, std::span<std::int32_t> out) const {
  const auto count = static_cast<std::int64_t>(out.size());
  if (first < 0 || first > m_tokens || count > m_tokens - first)
    return failed(
        fmt::format("{}: tokens {} to {} were asked for, there are {}", m_name, first, first + count, m_tokens));
  const Bytes offset = static_cast<Bytes>(sizeof(Header)) + first * m_tokenBytes;
  if (m_tokenBytes == 4) return m_file->read(std::as_writable_bytes(out), offset);
  // Ids of 16 bits are read into the upper half of the room and widened from the front.
  const auto narrow = std::as_writable_bytes(out).last(out.size() * 2);
  MILLRACE_CHECK(m_file->read(narrow, offset));
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint16_t id;
    std::memcpy(&id, narrow.data() + 2 * i, sizeof id);
    const std::int32_t wide = id;
    std::memcpy(&out[i], &wide, sizeof wide);
  }
  return {};
}

Result<std::shared_ptr<const TokenCache>> TokenCache::open(FileSystem& files, const Path& path, const std::string& key,
                                                           std::int64_t vocabularySize, const Progress& progress) {
  const auto damaged = [&](const std::string& what) { return badInput(fmt::format("{}: {}", path.string(), what)); };
  std::shared_ptr<TokenCache> cache(new TokenCache);
  cache->m_name = path.string();
  MILLRACE_TRY(cache->m_file, files.open(path, OpenMode::Read));
  const File& file = *cache->m_file;
  MILLRACE_TRY(const Bytes size, file.size());
  if (size < static_cast<Bytes>(sizeof(Header) + sizeof(Footer)))
    return damaged(fmt::format("has {} bytes, too few for a token cache", size));

  Header header;
  Footer footer;
  MILLRACE_CHECK(file.read(std::as_writable_bytes(std::span(&header, 1)), 0));
  MILLRACE_CHECK(file.read(std::as_writable_bytes(std::span(&footer, 1)), size - static_cast<Bytes>(sizeof footer)));
  if (header.magic != headerMagic || footer.magic != footerMagic)
    return damaged("is not a token cache, or its end is missing");
  if (header.version != formatVersion || footer.version != formatVersion)
    return damaged(fmt::format("has format version {}, expected {}", header.version, formatVersion));
  if (footer.ownHash != footerHash(footer)) return damaged("the footer's checksum is wrong");
  if (text(footer.key) != key) return damaged("belongs to other data or another tokenizer");
  if (footer.tokenBytes != header.tokenBytes || static_cast<int>(footer.tokenBytes) != tokenBytesFor(vocabularySize))
    return damaged(fmt::format("has {} bytes a token, expected {}", footer.tokenBytes, tokenBytesFor(vocabularySize)));
  const Bytes room = size - static_cast<Bytes>(sizeof(Header) + sizeof(Footer));
  const auto mostTokens = static_cast<std::uint64_t>(room) / footer.tokenBytes;
  const auto mostDocuments = static_cast<std::uint64_t>(room) / sizeof(CachedDocument);
  if (footer.tokens > mostTokens || footer.documents > mostDocuments ||
      footer.tokens * footer.tokenBytes + footer.documents * sizeof(CachedDocument) != static_cast<std::uint64_t>(room))
    return damaged(fmt::format("has {} bytes, which is not what {} tokens of {} documents take", size, footer.tokens,
                               footer.documents));

  cache->m_tokens = static_cast<std::int64_t>(footer.tokens);
  cache->m_tokenBytes = static_cast<int>(footer.tokenBytes);
  cache->m_counts = {static_cast<std::int64_t>(footer.badRows), static_cast<std::int64_t>(footer.emptyDocuments),
                     static_cast<std::int64_t>(footer.repairedSequences)};
  Hasher128 hasher;
  hasher.update(rawBytes(header));
  const Bytes tokensEnd = static_cast<Bytes>(sizeof(Header)) + cache->m_tokens * cache->m_tokenBytes;
  std::vector<std::byte> piece(static_cast<std::size_t>(pieceSize));
  for (Bytes offset = sizeof(Header); offset < tokensEnd;) {
    const auto bytes = std::span(piece).first(static_cast<std::size_t>(std::min(pieceSize, tokensEnd - offset)));
    MILLRACE_CHECK(file.read(bytes, offset));
    hasher.update(bytes);
    std::uint32_t largest = 0;
    if (cache->m_tokenBytes == 2) {
      for (std::size_t i = 0; i < bytes.size(); i += 2) {
        std::uint16_t id;
        std::memcpy(&id, bytes.data() + i, sizeof id);
        largest = std::max<std::uint32_t>(largest, id);
      }
    } else {
      for (std::size_t i = 0; i < bytes.size(); i += 4) {
        std::uint32_t id;
        std::memcpy(&id, bytes.data() + i, sizeof id);
        largest = std::max(largest, id);
      }
    }
    if (largest >= static_cast<std::uint64_t>(vocabularySize))
      return damaged(fmt::format("holds the token id {}, the vocabulary has {}", largest, vocabularySize));
    offset += static_cast<Bytes>(bytes.size());
    MILLRACE_CHECK(progress(static_cast<Bytes>(bytes.size())));
  }
  cache->m_documents.resize(footer.documents);
  const auto table = std::as_writable_bytes(std::span(cache->m_documents));
  MILLRACE_CHECK(file.read(table, tokensEnd));
  hasher.update(table);
  if (hasher.hex() != text(footer.checksum)) return damaged("the checksum is wrong");
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < cache->m_documents.size(); ++i) {
    const std::uint64_t first = cache->m_documents[i].firstToken;
    if ((i == 0 && first != 0) || (i > 0 && first <= last) || first >= footer.tokens)
      return damaged(fmt::format("document {} starts at token {}, which is out of order", i, first));
    last = first;
  }
  return cache;
}

TokenCacheWriter::TokenCacheWriter(FileSystem& files, Path path, Path partial, std::unique_ptr<File> file,
                                   std::string key, int tokenBytes)
    : m_files(&files),
      m_path(std::move(path)),
      m_partial(std::move(partial)),
      m_file(std::move(file)),
      m_key(std::move(key)),
      m_tokenBytes(tokenBytes) {}

TokenCacheWriter::TokenCacheWriter(TokenCacheWriter&&) noexcept = default;

TokenCacheWriter::~TokenCacheWriter() {
  if (!m_file) return;
  m_file.reset();
  (void)m_files->remove(m_partial); // best effort: the name says that it is partial
}

Result<TokenCacheWriter> TokenCacheWriter::create(FileSystem& files, const Path& path, std::string key,
                                                  std::int64_t vocabularySize) {
  if (key.size() != sizeof Footer::key) return failed(fmt::format("the cache key '{}' is not 32 digits", key));
  // Two programs may tokenize the same data at once; each writes its own file, and either is good.
  Path partial = path;
  partial += fmt::format(".{}.partial", ::getpid());
  MILLRACE_TRY(auto file, files.open(partial, OpenMode::Create));
  TokenCacheWriter writer(files, path, std::move(partial), std::move(file), std::move(key),
                          tokenBytesFor(vocabularySize));
  Header header;
  header.tokenBytes = static_cast<std::uint32_t>(writer.m_tokenBytes);
  MILLRACE_CHECK(writer.write(std::as_bytes(std::span(&header, 1))));
  return writer;
}

Status TokenCacheWriter::write(std::span<const std::byte> bytes) {
  m_hasher.update(bytes);
  MILLRACE_CHECK(m_file->write(bytes, m_written));
  m_written += static_cast<Bytes>(bytes.size());
  return {};
}

Status TokenCacheWriter::flush() {
  MILLRACE_CHECK(write(m_buffer));
  m_buffer.clear();
  return {};
}

Status TokenCacheWriter::append(std::span<const std::int32_t> ids) {
  const auto width = static_cast<std::size_t>(m_tokenBytes);
  const std::size_t before = m_buffer.size();
  m_buffer.resize(before + ids.size() * width);
  std::byte* out = m_buffer.data() + before;
  for (const std::int32_t id : ids) {
    std::memcpy(out, &id, width); // little endian: the low bytes come first
    out += width;
  }
  m_tokens += static_cast<std::int64_t>(ids.size());
  return static_cast<Bytes>(m_buffer.size()) >= pieceSize ? flush() : Status{};
}

void TokenCacheWriter::endDocument(std::uint64_t hash, std::uint64_t textBytes) {
  m_documents.push_back({m_documentStart, hash, textBytes});
  m_documentStart = static_cast<std::uint64_t>(m_tokens);
}

Status TokenCacheWriter::finish(const CachedCounts& counts) {
  MILLRACE_CHECK(flush());
  MILLRACE_CHECK(write(std::as_bytes(std::span(m_documents))));
  Footer footer;
  footer.tokenBytes = static_cast<std::uint32_t>(m_tokenBytes);
  footer.tokens = static_cast<std::uint64_t>(m_tokens);
  footer.documents = m_documents.size();
  footer.badRows = static_cast<std::uint64_t>(counts.badRows);
  footer.emptyDocuments = static_cast<std::uint64_t>(counts.emptyDocuments);
  footer.repairedSequences = static_cast<std::uint64_t>(counts.repairedSequences);
  std::copy(m_key.begin(), m_key.end(), footer.key.begin());
  const std::string checksum = m_hasher.hex();
  std::copy(checksum.begin(), checksum.end(), footer.checksum.begin());
  footer.ownHash = footerHash(footer);
  MILLRACE_CHECK(m_file->write(std::as_bytes(std::span(&footer, 1)), m_written));
  MILLRACE_CHECK(m_file->sync());
  MILLRACE_CHECK(m_files->rename(m_partial, m_path));
  m_file.reset();
  return m_files->syncDirectory(m_path.has_parent_path() ? m_path.parent_path() : Path("."));
}

} // namespace millrace
