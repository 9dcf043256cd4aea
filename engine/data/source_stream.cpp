#include "data/source_stream.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace millrace {

namespace {
constexpr std::size_t blockSize = static_cast<std::size_t>(MiB);
}

bool isZstdName(const Path& path) {
  return path.extension() == ".zst";
}

SourceStream::SourceStream(Path path, std::unique_ptr<File> file, Bytes size, bool compressed)
    : m_path(std::move(path)), m_file(std::move(file)), m_size(size) {
  if (compressed) m_decoder.emplace();
}

Result<std::unique_ptr<SourceStream>> SourceStream::open(FileSystem& files, const Path& path) {
  MILLRACE_TRY(auto file, files.open(path, OpenMode::Read));
  MILLRACE_TRY(const Bytes size, file->size());
  std::unique_ptr<SourceStream> stream(new SourceStream(path, std::move(file), size, isZstdName(path)));
  MILLRACE_CHECK(stream->fetch());
  return stream;
}

Status SourceStream::fetch() {
  m_at = 0;
  if (!m_decoder) {
    m_ahead.resize(static_cast<std::size_t>(std::min<Bytes>(blockSize, m_size - m_offset)));
    if (!m_ahead.empty()) MILLRACE_CHECK(m_file->read(m_ahead, m_offset));
    m_hasher.update(m_ahead);
    m_offset += static_cast<Bytes>(m_ahead.size());
    m_finished = m_offset == m_size;
    return {};
  }
  m_ahead.resize(blockSize);
  std::span<std::byte> room(m_ahead);
  const auto named = [&](Status status) {
    if (!status) status.error().message = fmt::format("{}: {}", m_path.string(), status.error().message);
    return status;
  };
  for (;;) {
    MILLRACE_CHECK(named(m_decoder->decode(m_undecoded, room)));
    if (room.size() < m_ahead.size() || m_offset == m_size) break;
    m_raw.resize(static_cast<std::size_t>(std::min<Bytes>(blockSize, m_size - m_offset)));
    MILLRACE_CHECK(m_file->read(m_raw, m_offset));
    m_hasher.update(m_raw);
    m_offset += static_cast<Bytes>(m_raw.size());
    m_undecoded = m_raw;
  }
  m_ahead.resize(m_ahead.size() - room.size());
  m_finished = m_ahead.empty();
  if (m_finished) MILLRACE_CHECK(named(m_decoder->finish()));
  return {};
}

Result<std::size_t> SourceStream::read(std::span<std::byte> out) {
  std::size_t given = 0;
  for (;;) {
    const std::size_t part = std::min(out.size() - given, m_ahead.size() - m_at);
    if (part > 0) std::memcpy(out.data() + given, m_ahead.data() + m_at, part);
    given += part;
    m_at += part;
    if (m_at == m_ahead.size() && !m_finished) MILLRACE_CHECK(fetch());
    if (given == out.size() || atEnd()) return given;
  }
}

} // namespace millrace
