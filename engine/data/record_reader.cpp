#include "data/record_reader.h"

#include "data/foreign_files.h"
#include "text/unicode.h"
#include "text/utf8.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr Bytes blockSize = MiB;
constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";

bool isPlainCharacter(std::string_view text, std::size_t at) {
  const Utf8Step step = stepUtf8(text, at);
  return step.kind == Utf8Step::Kind::Character && !isWhiteSpace(step.code);
}

/// Whether text (whose last line is complete) and the next line are joined by a single line feed between two characters
/// that are no white space.
bool mayCutBefore(std::string_view text, std::string_view next) {
  if (text.size() < 2 || text.back() != '\n' || next.empty() || !isPlainCharacter(next, 0)) return false;
  std::size_t at = text.size() - 2;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return isPlainCharacter(text, at);
}

std::string tooLong(Bytes limit) {
  return fmt::format("the row is longer than {}", formatBytes(limit));
}

} // namespace

Result<std::string> hashFile(FileSystem& files, const Path& path, const std::function<Status(Bytes)>& seen) {
  MILLRACE_TRY(const auto file, files.open(path, OpenMode::Read));
  MILLRACE_TRY(const Bytes size, file->size());
  Hasher128 hasher;
  std::vector<std::byte> block(static_cast<std::size_t>(std::min(size, 4 * blockSize)));
  for (Bytes offset = 0; offset < size;) {
    const auto piece = std::span(block).first(static_cast<std::size_t>(std::min<Bytes>(4 * blockSize, size - offset)));
    MILLRACE_CHECK(file->read(piece, offset));
    hasher.update(piece);
    offset += static_cast<Bytes>(piece.size());
    MILLRACE_CHECK(seen(static_cast<Bytes>(piece.size())));
  }
  return hasher.hex();
}

RecordReader::RecordReader(FileSystem& files, std::vector<SourceFile> sources, RecordLimits limits)
    : m_files(files), m_sources(std::move(sources)), m_limits(limits) {}

Result<bool> RecordReader::openNext() {
  if (m_stream) {
    m_hashes.push_back(m_stream->hash());
    m_bytesOfClosed += m_stream->fileBytesRead();
    m_stream.reset();
  }
  if (m_next == m_sources.size()) return false;
  const SourceFile& source = m_sources[m_next];
  MILLRACE_TRY(m_stream, SourceStream::open(m_files, source.path));
  ++m_next;
  m_block.clear();
  m_at = 0;
  m_line = 0;
  m_lineEnded = true;
  m_carry.clear();
  m_inDocument = false;
  m_endOfText = false;
  m_listEnded = false;
  m_elements.reset();
  MILLRACE_CHECK(fillBlock());
  MILLRACE_CHECK(refuseForeignContents(source.path, m_block, source.layout == RecordLayout::Text));
  if (m_block.starts_with(byteOrderMark)) m_at = byteOrderMark.size();
  if (source.layout == RecordLayout::List) {
    const std::size_t first = m_block.find_first_not_of(" \t\r\n", m_at);
    if (first != std::string::npos && m_block[first] == '[') m_elements.emplace(static_cast<std::size_t>(m_limits.row));
  }
  return true;
}

/// Reads on behind what is left of the block.
Status RecordReader::fillBlock() {
  m_block.erase(0, m_at);
  m_at = 0;
  const std::size_t kept = m_block.size();
  m_block.resize(kept + static_cast<std::size_t>(blockSize));
  MILLRACE_TRY(const std::size_t got, m_stream->read(std::as_writable_bytes(std::span(m_block)).subspan(kept)));
  m_block.resize(kept + got);
  return {};
}

Result<bool> RecordReader::nextPart(std::string_view& part, bool& lineEnds) {
  std::size_t feed = m_block.find('\n', m_at);
  // Lines of up to half a block come in one part, wherever they stand.
  if (feed == std::string::npos && !m_stream->atEnd() &&
      m_block.size() - m_at < static_cast<std::size_t>(blockSize / 2)) {
    MILLRACE_CHECK(fillBlock());
    feed = m_block.find('\n', m_at);
  }
  if (m_at >= m_block.size()) return false;
  if (m_lineEnded) ++m_line;
  lineEnds = feed != std::string::npos;
  part = std::string_view(m_block).substr(m_at, lineEnds ? feed - m_at : std::string::npos);
  // A carriage return may belong to a line feed of the next block.
  if (!lineEnds && !m_stream->atEnd() && part.size() > 1 && part.ends_with('\r')) part.remove_suffix(1);
  m_at += part.size() + (lineEnds ? 1 : 0);
  m_lineEnded = lineEnds;
  return true;
}

Result<bool> RecordReader::next(RawRecord& record) {
  for (;;) {
    if (m_stream) {
      MILLRACE_TRY(const bool got, m_elements                                           ? nextElement(record)
                                   : m_sources[m_next - 1].layout == RecordLayout::Text ? nextText(record)
                                                                                        : nextLine(record));
      if (got) {
        record.file = m_next - 1;
        return true;
      }
    }
    MILLRACE_TRY(const bool opened, openNext());
    if (!opened) return false;
  }
}

Result<bool> RecordReader::nextLine(RawRecord& record) {
  record = {};
  std::string_view part;
  bool lineEnds = false;
  bool any = false;
  while (!lineEnds) {
    MILLRACE_TRY(const bool got, nextPart(part, lineEnds));
    if (!got) break;
    if (!any) record.line = m_line;
    any = true;
    if (static_cast<Bytes>(record.bytes.size() + part.size()) > m_limits.row) {
      record.problem = tooLong(m_limits.row);
      record.bytes.clear();
    }
    if (record.problem.empty()) record.bytes.append(part);
  }
  if (record.bytes.ends_with('\r')) record.bytes.pop_back();
  return any;
}

Result<bool> RecordReader::nextElement(RawRecord& record) {
  record = {};
  while (!m_listEnded) {
    if (m_at == m_block.size()) {
      MILLRACE_CHECK(fillBlock());
      if (m_block.empty()) break;
    }
    std::string_view rest = std::string_view(m_block).substr(m_at);
    const JsonElements::Event event = m_elements->next(rest);
    m_at = m_block.size() - rest.size();
    m_listEnded = event == JsonElements::Event::End;
    if (event != JsonElements::Event::Element) continue;
    record.line = m_elements->line();
    record.bytes = m_elements->text();
    if (m_elements->tooLong()) record.problem = tooLong(m_limits.row);
    return true;
  }
  if (!m_listEnded) {
    m_listEnded = true;
    record.line = m_elements->inElement() ? m_elements->line() : m_elements->lines();
    record.problem = "the file ends before its list does";
    return true;
  }
  // Behind the list there is white space at most.
  while (m_at < m_block.size() || !m_stream->atEnd()) {
    if (m_at == m_block.size()) MILLRACE_CHECK(fillBlock());
    const std::size_t more = m_block.find_first_not_of(" \t\r\n", m_at);
    m_at = m_block.size();
    if (more == std::string::npos || !record.problem.empty()) continue; // read on, for the hash of the file
    record.line = m_elements->lines();
    record.problem = "something stands behind the end of the list";
  }
  return !record.problem.empty();
}

Result<bool> RecordReader::nextText(RawRecord& record) {
  const std::string& separator = m_sources[m_next - 1].how.separator;
  record = {};
  record.first = !m_inDocument;
  const auto give = [&](std::string text, bool last) {
    record.bytes = std::move(text);
    record.last = last;
    record.line = m_carryLine;
    m_carryLine = m_line;
    m_inDocument = !last;
    return true;
  };
  if (m_carry.empty()) m_carryLine = m_line + 1;
  for (;;) {
    std::string_view part;
    bool lineEnds = false;
    const bool lineBegins = m_lineEnded;
    MILLRACE_TRY(const bool got, nextPart(part, lineEnds));
    if (!got) {
      // The end of the file ends the document that is open, and there is none behind a separator.
      if (m_endOfText || (m_carry.empty() && !m_inDocument)) return false;
      m_endOfText = true;
      if (!separator.empty() && m_carry.ends_with('\n')) m_carry.pop_back();
      return give(std::exchange(m_carry, {}), true);
    }
    if (lineEnds && part.ends_with('\r')) part.remove_suffix(1);
    const bool atFileEnd = !lineEnds && m_stream->atEnd() && m_at >= m_block.size();
    if (!separator.empty() && lineBegins && (lineEnds || atFileEnd) &&
        (part == separator || (part.ends_with('\r') && part.substr(0, part.size() - 1) == separator))) {
      if (m_carry.ends_with('\n')) m_carry.pop_back(); // it belongs to the separator's line
      if (m_carry.empty() && !m_inDocument) {
        m_carryLine = m_line + 1;
        continue;
      }
      return give(std::exchange(m_carry, {}), true);
    }
    if (static_cast<Bytes>(m_carry.size()) >= m_limits.fragment && lineBegins && mayCutBefore(m_carry, part)) {
      std::string text = std::exchange(m_carry, std::string(part));
      if (lineEnds) m_carry += '\n';
      return give(std::move(text), false);
    }
    m_carry.append(part);
    if (lineEnds) m_carry += '\n';
    if (static_cast<Bytes>(m_carry.size()) >= m_limits.document) {
      std::string tail = m_carry.substr(m_carry.size() - incompleteUtf8Tail(m_carry));
      m_carry.resize(m_carry.size() - tail.size());
      return give(std::exchange(m_carry, std::move(tail)), false);
    }
  }
}

} // namespace millrace
