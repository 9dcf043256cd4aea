#include "data/token_shard.h"

#include "data/token_shard_format.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace millrace {

using namespace shard_format;

namespace {

static_assert(sizeof(CachedDocument) == 32 && std::is_trivially_copyable_v<CachedDocument>);
static_assert(sizeof(TokenRange) == 8 && std::is_trivially_copyable_v<TokenRange>);

/// The largest of the ids in the bytes.
template <class Id>
std::uint32_t largestId(std::span<const std::byte> bytes) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(Id)) {
    Id id;
    std::memcpy(&id, bytes.data() + i, sizeof id);
    largest = std::max<std::uint32_t>(largest, id);
  }
  return largest;
}

/// False when the bytes are not a list of names, of which the first is empty.
bool parseNames(std::string_view bytes, std::vector<std::string>& names) {
  while (!bytes.empty()) {
    std::uint32_t length = 0;
    if (bytes.size() < sizeof length) return false;
    std::memcpy(&length, bytes.data(), sizeof length);
    bytes.remove_prefix(sizeof length);
    if (length > bytes.size()) return false;
    names.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return !names.empty() && names.front().empty();
}

} // namespace

std::int64_t TokenShard::length(std::size_t i) const {
  const std::uint64_t end =
      i + 1 < m_documents.size() ? m_documents[i + 1].firstToken : static_cast<std::uint64_t>(m_tokens);
  return static_cast<std::int64_t>(end - m_documents[i].firstToken);
}

std::span<const TokenRange> TokenShard::learnt(std::size_t i) const {
  const std::size_t first = m_documents[i].firstRange;
  const std::size_t end = i + 1 < m_documents.size() ? m_documents[i + 1].firstRange : m_ranges.size();
  return std::span(m_ranges).subspan(first, end - first);
}

Status TokenShard::read(std::int64_t first, std::span<std::int32_t> out) const {
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

Result<std::shared_ptr<const TokenShard>> TokenShard::open(FileSystem& files, const Path& path, const std::string& key,
                                                           std::int64_t vocabularySize, ShardCheck check,
                                                           const Progress& progress) {
  const auto damaged = [&](const std::string& what) { return badInput(fmt::format("{}: {}", path.string(), what)); };
  std::shared_ptr<TokenShard> shard(new TokenShard);
  shard->m_name = path.string();
  MILLRACE_TRY(shard->m_file, files.open(path, OpenMode::Read));
  const File& file = *shard->m_file;
  MILLRACE_TRY(const Bytes size, file.size());
  if (size < static_cast<Bytes>(sizeof(Header) + sizeof(Footer)))
    return damaged(fmt::format("has {} bytes, too few for a token cache", size));

  Header header;
  Footer footer;
  MILLRACE_CHECK(file.read(std::as_writable_bytes(std::span(&header, 1)), 0));
  MILLRACE_CHECK(file.read(std::as_writable_bytes(std::span(&footer, 1)), size - static_cast<Bytes>(sizeof footer)));
  if (header.magic != headerMagic || footer.magic != footerMagic)
    return damaged("is not a token cache, or its end is missing");
  if (header.version != version || footer.version != version)
    return damaged(fmt::format("has format version {}, expected {}", header.version, version));
  if (footer.ownHash != hashOf(footer)) return damaged("the footer's checksum is wrong");
  if (text(footer.key) != key) return damaged("belongs to other data or another tokenizer");
  if (footer.tokenBytes != header.tokenBytes || static_cast<int>(footer.tokenBytes) != tokenBytesFor(vocabularySize))
    return damaged(fmt::format("has {} bytes a token, expected {}", footer.tokenBytes, tokenBytesFor(vocabularySize)));
  const auto room = static_cast<std::uint64_t>(size) - sizeof(Header) - sizeof(Footer);
  // Each count is bounded before they are multiplied.
  if (footer.tokens > room / footer.tokenBytes || footer.documents > room / sizeof(CachedDocument) ||
      footer.ranges > room / sizeof(TokenRange) || footer.nameBytes > mostSets * (longestSetName + 4) ||
      footer.tokens * footer.tokenBytes + footer.documents * sizeof(CachedDocument) +
              footer.ranges * sizeof(TokenRange) + footer.nameBytes !=
          room)
    return damaged(fmt::format("has {} bytes, which is not what {} tokens of {} documents take", size, footer.tokens,
                               footer.documents));

  shard->m_tokens = static_cast<std::int64_t>(footer.tokens);
  shard->m_tokenBytes = static_cast<int>(footer.tokenBytes);
  const auto count = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  shard->m_place = {
      footer.index,
      footer.last != 0,
      {footer.nextFile, footer.nextRecord},
      {count(footer.badRows),
       count(footer.emptyDocuments),
       count(footer.repairedSequences),
       count(footer.otherSets),
       {count(footer.truncated), count(footer.split), count(footer.dropped), count(footer.nothingLearnt)}}};
  Hasher128 hasher;
  hasher.update(rawBytes(header));
  Bytes offset = sizeof(Header);
  const Bytes tokensEnd = offset + shard->m_tokens * shard->m_tokenBytes;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(pieceSize, tokensEnd - offset)));
  if (check == ShardCheck::Tables) offset = tokensEnd;
  while (offset < tokensEnd) {
    const auto bytes = std::span(piece).first(static_cast<std::size_t>(std::min(pieceSize, tokensEnd - offset)));
    MILLRACE_CHECK(file.read(bytes, offset));
    hasher.update(bytes);
    const std::uint32_t largest =
        shard->m_tokenBytes == 2 ? largestId<std::uint16_t>(bytes) : largestId<std::uint32_t>(bytes);
    if (largest >= static_cast<std::uint64_t>(vocabularySize))
      return damaged(fmt::format("holds the token id {}, the vocabulary has {}", largest, vocabularySize));
    offset += static_cast<Bytes>(bytes.size());
    if (progress) MILLRACE_CHECK(progress(static_cast<Bytes>(bytes.size())));
  }
  const auto readTable = [&](std::span<std::byte> table) -> Status {
    MILLRACE_CHECK(file.read(table, offset));
    hasher.update(table);
    offset += static_cast<Bytes>(table.size());
    return {};
  };
  shard->m_documents.resize(footer.documents);
  shard->m_ranges.resize(footer.ranges);
  std::string names(footer.nameBytes, '\0');
  MILLRACE_CHECK(readTable(std::as_writable_bytes(std::span(shard->m_documents))));
  MILLRACE_CHECK(readTable(std::as_writable_bytes(std::span(shard->m_ranges))));
  MILLRACE_CHECK(readTable(std::as_writable_bytes(std::span(names))));
  if (check == ShardCheck::Whole && hasher.hex() != text(footer.checksum)) return damaged("the checksum is wrong");
  if (!parseNames(names, shard->m_setNames)) return damaged("the names of sets cannot be read");
  MILLRACE_CHECK(shard->checkTables());
  return shard;
}

Status TokenShard::checkTables() const {
  const auto damaged = [&](const std::string& what) { return badInput(fmt::format("{}: {}", m_name, what)); };
  for (std::size_t i = 0; i < m_documents.size(); ++i) {
    const CachedDocument& document = m_documents[i];
    const bool inOrder = i == 0 ? document.firstToken == 0 && document.firstRange == 0
                                : document.firstToken > m_documents[i - 1].firstToken &&
                                      document.firstRange >= m_documents[i - 1].firstRange;
    if (!inOrder || document.firstToken >= static_cast<std::uint64_t>(m_tokens) ||
        document.firstRange > m_ranges.size())
      return damaged(fmt::format("document {} starts at token {}, which is out of order", i, document.firstToken));
    if (document.set >= m_setNames.size())
      return damaged(fmt::format("document {} is of set {}, there are {}", i, document.set, m_setNames.size()));
  }
  if (m_documents.empty() && (m_tokens > 0 || !m_ranges.empty())) return damaged("has tokens of no document");
  for (std::size_t i = 0; i < m_documents.size(); ++i) {
    std::uint64_t end = 0;
    for (const TokenRange& range : learnt(i)) {
      if (range.begin < end || range.end <= range.begin || range.end > static_cast<std::uint64_t>(length(i)))
        return damaged(fmt::format("document {} learns from tokens {} to {}, which are not in it or out of order", i,
                                   range.begin, range.end));
      end = range.end;
    }
  }
  return {};
}

} // namespace millrace
