#include "data/token_shard_writer.h"

#include "data/token_shard_format.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

namespace millrace {

using namespace shard_format;

TokenShardWriter::TokenShardWriter(FileSystem& files, Path path, Path partial, std::unique_ptr<File> file,
                                   std::string key, int tokenBytes)
    : m_files(&files),
      m_path(std::move(path)),
      m_partial(std::move(partial)),
      m_file(std::move(file)),
      m_key(std::move(key)),
      m_tokenBytes(tokenBytes) {}

TokenShardWriter::TokenShardWriter(TokenShardWriter&&) noexcept = default;

TokenShardWriter::~TokenShardWriter() {
  if (!m_file) return;
  m_file.reset();
  (void)m_files->remove(m_partial); // best effort: the name says that it is partial
}

namespace {
constexpr std::string_view partialEnding = ".partial";
constexpr std::chrono::hours abandoned{1}; ///< not written to for so long, and its process is not there

/// What killed programs left. Those of other machines, whose processes cannot be seen, are told by their age too.
void removeAbandoned(FileSystem& files, const Path& folder) {
  const auto names = files.list(folder);
  if (!names) return;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  for (const std::string& name : *names) {
    if (!name.ends_with(partialEnding)) continue;
    const std::string stem = name.substr(0, name.size() - partialEnding.size());
    const std::size_t dot = stem.rfind('.');
    pid_t process = 0;
    if (dot == std::string::npos) continue;
    const char* const end = stem.data() + stem.size();
    const auto [stop, problem] = std::from_chars(stem.data() + dot + 1, end, process);
    if (problem != std::errc() || stop != end || process <= 0) continue;
    if (::kill(process, 0) == 0 || errno != ESRCH) continue;
    const auto file = files.open(folder / name, OpenMode::Read);
    const auto modified = file ? (*file)->modified() : tl::unexpected<Error>(file.error());
    if (modified && now - std::chrono::nanoseconds(*modified) > abandoned)
      (void)files.remove(folder / name); // best effort: it only takes room
  }
}
} // namespace

Result<TokenShardWriter> TokenShardWriter::create(FileSystem& files, const Path& path, std::string key,
                                                  std::int64_t vocabularySize) {
  if (key.size() != sizeof Footer::key) return failed(fmt::format("the cache key '{}' is not 32 digits", key));
  // Two programs may tokenize the same data at once; each writes its own file, and either is good.
  Path partial = path;
  partial += fmt::format(".{}{}", ::getpid(), partialEnding);
  removeAbandoned(files, path.parent_path());
  MILLRACE_TRY(auto file, files.open(partial, OpenMode::Create));
  TokenShardWriter writer(files, path, std::move(partial), std::move(file), std::move(key),
                          tokenBytesFor(vocabularySize));
  Header header;
  header.tokenBytes = static_cast<std::uint32_t>(writer.m_tokenBytes);
  MILLRACE_CHECK(writer.write(std::as_bytes(std::span(&header, 1))));
  return writer;
}

Status TokenShardWriter::write(std::span<const std::byte> bytes) {
  m_hasher.update(bytes);
  MILLRACE_CHECK(m_file->write(bytes, m_written));
  m_written += static_cast<Bytes>(bytes.size());
  return {};
}

Status TokenShardWriter::flush() {
  MILLRACE_CHECK(write(m_buffer));
  m_buffer.clear();
  return {};
}

Status TokenShardWriter::append(std::span<const std::int32_t> ids) {
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

void TokenShardWriter::endDocument(const DocumentFacts& facts) {
  m_documents.push_back({m_documentStart, facts.hash, facts.textBytes, static_cast<std::uint32_t>(m_ranges.size()),
                         facts.set, static_cast<std::uint16_t>(facts.wholeLearnt ? 1 : 0)});
  m_ranges.insert(m_ranges.end(), facts.learnt.begin(), facts.learnt.end());
  m_documentStart = static_cast<std::uint64_t>(m_tokens);
}

bool TokenShardWriter::full(const ShardLimits& limits) const {
  return m_tokens >= limits.tokens || documents() >= limits.documents ||
         static_cast<std::int64_t>(m_ranges.size()) >= limits.ranges;
}

Status TokenShardWriter::finish(const ShardPlace& place, std::span<const std::string> setNames) {
  MILLRACE_CHECK(flush());
  MILLRACE_CHECK(write(std::as_bytes(std::span(m_documents))));
  MILLRACE_CHECK(write(std::as_bytes(std::span(m_ranges))));
  std::string names;
  for (const std::string& name : setNames) {
    const auto length = static_cast<std::uint32_t>(name.size());
    names += rawBytes(length);
    names += name;
  }
  MILLRACE_CHECK(write(std::as_bytes(std::span(names))));
  Footer footer;
  footer.tokenBytes = static_cast<std::uint32_t>(m_tokenBytes);
  footer.tokens = static_cast<std::uint64_t>(m_tokens);
  footer.documents = m_documents.size();
  footer.ranges = m_ranges.size();
  footer.nameBytes = names.size();
  footer.index = place.index;
  footer.last = place.last ? 1 : 0;
  footer.nextFile = place.next.file;
  footer.nextRecord = place.next.record;
  footer.badRows = static_cast<std::uint64_t>(place.counts.badRows);
  footer.emptyDocuments = static_cast<std::uint64_t>(place.counts.emptyDocuments);
  footer.repairedSequences = static_cast<std::uint64_t>(place.counts.repairedSequences);
  footer.otherSets = static_cast<std::uint64_t>(place.counts.otherSets);
  footer.truncated = static_cast<std::uint64_t>(place.counts.conversations.truncated);
  footer.split = static_cast<std::uint64_t>(place.counts.conversations.split);
  footer.dropped = static_cast<std::uint64_t>(place.counts.conversations.dropped);
  footer.nothingLearnt = static_cast<std::uint64_t>(place.counts.conversations.nothingLearnt);
  std::copy(m_key.begin(), m_key.end(), footer.key.begin());
  const std::string checksum = m_hasher.hex();
  std::copy(checksum.begin(), checksum.end(), footer.checksum.begin());
  footer.ownHash = hashOf(footer);
  MILLRACE_CHECK(m_file->write(std::as_bytes(std::span(&footer, 1)), m_written));
  MILLRACE_CHECK(m_file->sync());
  MILLRACE_CHECK(m_files->rename(m_partial, m_path));
  m_file.reset();
  return m_files->syncDirectory(m_path.has_parent_path() ? m_path.parent_path() : Path("."));
}

} // namespace millrace
