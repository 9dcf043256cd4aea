#include "run/json_lines_reader.h"

#include "base/hash.h"

#include <algorithm>

namespace millrace {

namespace {
constexpr Bytes pieceBytes = 64 * KiB;
constexpr std::size_t longestLine = 16 * static_cast<std::size_t>(MiB);
} // namespace

JsonLinesReader::JsonLinesReader(FileSystem& files, Path path, Bytes offset)
    : m_files(files), m_path(std::move(path)), m_offset(offset) {}

void JsonLinesReader::seek(Bytes offset) {
  m_buffer.clear();
  m_taken = m_scanned = 0;
  m_offset = offset;
  m_skipping = m_rewritten = false;
  m_lastBytes = 0;
}

Result<std::optional<JsonLine>> JsonLinesReader::next() {
  while (!m_rewritten) {
    const std::size_t lineEnd = m_buffer.find('\n', m_scanned);
    if (lineEnd != std::string::npos) {
      JsonLine line{m_buffer.substr(m_taken, lineEnd - m_taken), m_offset + static_cast<Bytes>(m_taken),
                    m_offset + static_cast<Bytes>(lineEnd) + 1};
      m_taken = m_scanned = lineEnd + 1;
      if (std::exchange(m_skipping, false)) {
        ++m_skipped;
        m_lastBytes = 0;
        continue;
      }
      m_lastBegin = line.begin;
      m_lastBytes = line.end - line.begin;
      m_lastHash = hash64(line.text);
      return line;
    }
    m_scanned = m_buffer.size();
    if (m_buffer.size() - m_taken > longestLine) {
      m_skipping = true;
      m_taken = m_buffer.size();
    }
    const std::size_t before = m_buffer.size() - m_taken;
    MILLRACE_CHECK(refill());
    if (m_buffer.size() - m_taken == before) break;
  }
  return std::nullopt;
}

/// Opens the file anew each time: it may have been created or replaced since.
Status JsonLinesReader::refill() {
  m_buffer.erase(0, m_taken);
  m_offset += static_cast<Bytes>(m_taken);
  m_scanned -= m_taken;
  m_taken = 0;
  const bool started = m_lastBytes > 0;
  if (!m_files.exists(m_path)) {
    m_rewritten = started;
    return {};
  }
  MILLRACE_TRY(const auto file, m_files.open(m_path, OpenMode::Read));
  MILLRACE_TRY(const Bytes size, file->size());
  const Bytes position = m_offset + static_cast<Bytes>(m_buffer.size());
  if (started) {
    std::string last(static_cast<std::size_t>(m_lastBytes), '\0');
    const bool there = size >= m_lastBegin + m_lastBytes &&
                       file->read(std::as_writable_bytes(std::span(last)), m_lastBegin).has_value();
    if (!there || last.back() != '\n' || hash64(std::string_view(last).substr(0, last.size() - 1)) != m_lastHash) {
      m_rewritten = true;
      return {};
    }
  }
  if (size < position) { // a torn line that was cut off
    m_buffer.clear();
    m_scanned = 0;
    m_skipping = false;
    return {};
  }
  const auto piece = static_cast<std::size_t>(std::min(pieceBytes, size - position));
  const std::size_t had = m_buffer.size();
  m_buffer.resize(had + piece);
  if (!file->read(std::as_writable_bytes(std::span(m_buffer)).subspan(had), position))
    m_buffer.resize(had); // cut back between the two calls: the next refill sees it
  if (m_buffer.size() > had) ++m_refills;
  return {};
}

Status visitLinesBackward(const File& file, const std::function<bool(const JsonLine&)>& visit) {
  MILLRACE_TRY(const Bytes size, file.size());
  Bytes end = size;      // of the line being looked for
  Bytes position = size; // m_buffer holds [position, end)
  std::string buffer;
  std::size_t unsearched = 0; // bytes at the front of the buffer that may hold the line end sought
  bool tooLong = false;
  while (end > 0) {
    // The end of the line before; the last byte is this line's own end, if it has one.
    const std::size_t limit = buffer.empty() ? 0 : std::min(unsearched, buffer.size() - 1);
    const std::size_t lineEnd = limit == 0 ? std::string::npos : buffer.rfind('\n', limit - 1);
    if (lineEnd == std::string::npos && position > 0) {
      if (buffer.size() > longestLine) {
        tooLong = true;
        buffer.erase(1, buffer.size() - 2);
      }
      // As much again as there is, so that a long line is not moved over and over.
      const Bytes piece = std::min(std::max(pieceBytes, static_cast<Bytes>(buffer.size())), position);
      std::string more(static_cast<std::size_t>(piece), '\0');
      MILLRACE_CHECK(file.read(std::as_writable_bytes(std::span(more)), position - piece));
      position -= piece;
      unsearched = more.size();
      buffer = std::move(more) + buffer;
      continue;
    }
    const std::size_t begin = lineEnd == std::string::npos ? 0 : lineEnd + 1;
    JsonLine line;
    line.begin = position + static_cast<Bytes>(begin);
    line.end = end;
    if (!std::exchange(tooLong, false)) {
      line.text = buffer.substr(begin);
      if (!line.text.empty() && line.text.back() == '\n') line.text.pop_back();
    }
    if (!visit(line)) return {};
    buffer.resize(begin);
    unsearched = begin;
    end = line.begin;
  }
  return {};
}

} // namespace millrace
