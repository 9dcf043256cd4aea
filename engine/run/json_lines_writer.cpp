#include "run/json_lines_writer.h"

#include "base/json_reader.h"
#include "run/json_lines_reader.h"

namespace millrace {

JsonLinesWriter::JsonLinesWriter(Path path, std::unique_ptr<File> file, Bytes end, Bytes repaired, Bytes pendingLimit)
    : m_path(std::move(path)),
      m_file(std::move(file)),
      m_pendingLimit(pendingLimit),
      m_end(end),
      m_repaired(repaired) {}

Result<JsonLinesWriter> JsonLinesWriter::open(FileSystem& files, const Path& path, Bytes pendingLimit) {
  MILLRACE_TRY(auto file, files.open(path, OpenMode::ReadWrite));
  MILLRACE_TRY(const RepairedEnd end, repairLastLine(*file, path));
  return JsonLinesWriter(path, std::move(file), end.after, std::max<Bytes>(0, end.before - end.after), pendingLimit);
}

Status JsonLinesWriter::append(std::string_view line) {
  m_pending.push_back(std::string(line) + "\n");
  m_pendingBytes += static_cast<Bytes>(m_pending.back().size());
  while (m_pendingBytes > m_pendingLimit && m_pending.size() > 1) {
    m_pendingBytes -= static_cast<Bytes>(m_pending.front().size());
    m_pending.pop_front();
    ++m_dropped;
  }
  return retry();
}

Status JsonLinesWriter::retry() {
  if (m_pending.empty()) return {};
  std::string joined;
  const std::string* text = &m_pending.front();
  if (m_pending.size() > 1) {
    joined.reserve(static_cast<std::size_t>(m_pendingBytes));
    for (const std::string& line : m_pending) joined += line;
    text = &joined;
  }
  if (Status written = m_file->write(std::as_bytes(std::span(*text)), m_end); !written) {
    (void)m_file->truncate(m_end); // readers pass over a torn end, and the next write starts at the same place
    return written;
  }
  m_end += static_cast<Bytes>(text->size());
  m_pending.clear();
  m_pendingBytes = 0;
  return {};
}

Status JsonLinesWriter::sync() {
  MILLRACE_CHECK(retry());
  return m_file->sync();
}

Result<RepairedEnd> repairLastLine(File& file, const Path& path) {
  MILLRACE_TRY(const Bytes size, file.size());
  RepairedEnd end{size, size};
  MILLRACE_CHECK(visitLinesBackward(file, [&](const JsonLine& line) {
    const auto json = parseJson(line.text, path.string());
    if (json && json->is_object()) {
      end.after = line.end;
      return false;
    }
    end.after = line.begin;
    return true;
  }));
  if (end.after < size) MILLRACE_CHECK(file.truncate(end.after));
  if (end.after > 0) {
    std::byte last{};
    MILLRACE_CHECK(file.read({&last, 1}, end.after - 1));
    if (last != std::byte{'\n'}) {
      constexpr std::byte lineEnd{'\n'};
      MILLRACE_CHECK(file.write({&lineEnd, 1}, end.after));
      ++end.after;
    }
  }
  return end;
}

} // namespace millrace
