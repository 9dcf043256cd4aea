#include "data/source_stream.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace millrace {

namespace {
constexpr std::size_t streamBlock = static_cast<std::size_t>(MiB);
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
  if (stream->m_decoder) MILLRACE_CHECK(stream->decode());
  return stream;
}

bool SourceStream::atEnd() const {
  return m_offset == m_size && (!m_decoder || (m_at == m_decoded.size() && m_finished));
}

Result<std::size_t> SourceStream::readFile(std::span<std::byte> out) {
  const auto part = out.first(static_cast<std::size_t>(std::min(static_cast<Bytes>(out.size()), m_size - m_offset)));
  if (part.empty()) return 0;
  MILLRACE_CHECK(m_file->read(part, m_offset));
  m_hasher.update(part);
  m_offset += static_cast<Bytes>(part.size());
  return part.size();
}

Status SourceStream::decode() {
  m_at = 0;
  m_decoded.resize(streamBlock);
  std::span<std::byte> room(m_decoded);
  const auto named = [&](Status status) {
    if (!status) status.error().message = fmt::format("{}: {}", m_path.string(), status.error().message);
    return status;
  };
  for (;;) {
    MILLRACE_CHECK(named(m_decoder->decode(m_undecoded, room)));
    if (room.size() < m_decoded.size() || m_offset == m_size) break;
    m_raw.resize(streamBlock);
    MILLRACE_TRY(const std::size_t got, readFile(m_raw));
    m_undecoded = std::span(m_raw).first(got);
  }
  m_decoded.resize(m_decoded.size() - room.size());
  m_finished = m_decoded.empty();
  return m_finished ? named(m_decoder->finish()) : Status{};
}

Result<std::size_t> SourceStream::read(std::span<std::byte> out) {
  if (!m_decoder) return readFile(out);
  std::size_t given = 0;
  while (given < out.size() && !atEnd()) {
    const std::size_t part = std::min(out.size() - given, m_decoded.size() - m_at);
    std::memcpy(out.data() + given, m_decoded.data() + m_at, part);
    given += part;
    m_at += part;
    if (m_at == m_decoded.size()) MILLRACE_CHECK(decode());
  }
  return given;
}

} // namespace millrace
