#include "charts/column_file.h"

#include <QDir>
#include <QFile>
#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

namespace millrace::ui {

namespace {

/// A file without a name in `folder`, or -1 with errno set.
int openNameless(const QString& folder) {
  if (!QDir().mkpath(folder)) {
    errno = ENOTDIR;
    return -1;
  }
  const int file = ::open(QFile::encodeName(folder).constData(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  // Not every file system can do without a name.
  QByteArray path = QFile::encodeName(folder + QStringLiteral("/charts-XXXXXX"));
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(path.constData());
  return named;
}

/// 0 or errno.
int writeAll(int file, const char* from, std::size_t bytes, std::int64_t offset) {
  // Asked for before it is written: some file systems otherwise find out that they are full once it is too late to say.
  if (const int error = ::posix_fallocate(file, offset, static_cast<off_t>(bytes))) return error;
  while (bytes > 0) {
    const ssize_t written = ::pwrite(file, from, bytes, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    from += written;
    offset += written;
    bytes -= static_cast<std::size_t>(written);
  }
  return 0;
}

} // namespace

ColumnFile::Chunk::Chunk(void* data, std::size_t bytes, bool writable)
    : m_data(data == MAP_FAILED ? nullptr : static_cast<double*>(data)), m_bytes(bytes), m_writable(writable) {}

ColumnFile::Chunk::~Chunk() {
  if (m_data) ::munmap(m_data, m_bytes);
}

ColumnFile::Chunk::Chunk(Chunk&& other) noexcept
    : m_data(std::exchange(other.m_data, nullptr)), m_bytes(other.m_bytes), m_writable(other.m_writable) {}

ColumnFile::Chunk& ColumnFile::Chunk::operator=(Chunk&& other) noexcept {
  std::swap(m_data, other.m_data);
  std::swap(m_bytes, other.m_bytes);
  std::swap(m_writable, other.m_writable);
  return *this;
}

ColumnFile::Chunk ColumnFile::Chunk::inMemory(std::size_t bytes) {
  return {::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), bytes, true};
}

ColumnFile::Chunk ColumnFile::Chunk::ofFile(int file, std::int64_t offset, std::size_t bytes) {
  return {::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, offset), bytes, false};
}

ColumnFile::ColumnFile(int columns, QString folder)
    : m_columns(columns), m_folder(std::move(folder)), m_useFile(!m_folder.isEmpty()) {
  assert(columns > 0);
}

ColumnFile::~ColumnFile() {
  if (m_file >= 0) ::close(m_file);
}

ColumnFile::ColumnFile(ColumnFile&& other) noexcept {
  *this = std::move(other);
}

ColumnFile& ColumnFile::operator=(ColumnFile&& other) noexcept {
  std::swap(m_columns, other.m_columns);
  std::swap(m_folder, other.m_folder);
  std::swap(m_rows, other.m_rows);
  std::swap(m_chunks, other.m_chunks);
  std::swap(m_file, other.m_file);
  std::swap(m_fileBytes, other.m_fileBytes);
  std::swap(m_useFile, other.m_useFile);
  std::swap(m_notice, other.m_notice);
  return *this;
}

Result<void> ColumnFile::append(std::span<const double> values) {
  const auto width = static_cast<std::size_t>(m_columns);
  assert(values.size() % width == 0);
  while (!values.empty()) {
    MILLRACE_CHECK(openChunk());
    const auto chunk = static_cast<std::size_t>(m_rows >> chunkShift);
    const std::int64_t at = m_rows & (chunkRows - 1);
    const std::int64_t count = std::min<std::int64_t>(chunkRows - at, static_cast<std::int64_t>(values.size() / width));
    for (int column = 0; column < m_columns; ++column) {
      double* to = m_chunks[chunk].data() + (std::int64_t{column} << chunkShift) + at;
      const double* from = values.data() + column;
      for (std::int64_t row = 0; row < count; ++row) to[row] = from[row * m_columns];
    }
    m_rows += count;
    values = values.subspan(static_cast<std::size_t>(count) * width);
    if (at + count == chunkRows && m_useFile) writeOut(chunk);
  }
  return {};
}

void ColumnFile::truncate(std::int64_t rows) {
  assert(rows >= 0 && rows <= m_rows);
  m_rows = rows;
  const auto needed = static_cast<std::size_t>((rows + chunkRows - 1) >> chunkShift);
  m_chunks.erase(m_chunks.begin() + static_cast<std::ptrdiff_t>(needed), m_chunks.end());
}

std::size_t ColumnFile::chunkBytes() const {
  return static_cast<std::size_t>(m_columns * chunkRows) * sizeof(double);
}

/// Makes the next row's chunk writable: a new one, or a copy of a written one that lost its end.
Result<void> ColumnFile::openChunk() {
  const auto index = static_cast<std::size_t>(m_rows >> chunkShift);
  if (index < m_chunks.size() && m_chunks[index].isWritable()) return {};
  Chunk chunk = Chunk::inMemory(chunkBytes());
  if (!chunk) {
    const QString message = tr("There is no memory for more rows of metrics (%1 bytes).").arg(chunkBytes());
    return failure(ErrorKind::DoesNotFit, message.toStdString());
  }
  if (index < m_chunks.size()) {
    std::memcpy(chunk.data(), m_chunks[index].data(), chunkBytes());
    m_chunks[index] = std::move(chunk);
  } else {
    m_chunks.push_back(std::move(chunk));
  }
  return {};
}

void ColumnFile::writeOut(std::size_t chunk) {
  if (m_file < 0) m_file = openNameless(m_folder);
  if (m_file < 0) return keepInMemory(errno);
  const auto offset = static_cast<std::int64_t>(chunk * chunkBytes());
  const char* from = reinterpret_cast<const char*>(m_chunks[chunk].data());
  if (const int error = writeAll(m_file, from, chunkBytes(), offset)) return keepInMemory(error);
  Chunk written = Chunk::ofFile(m_file, offset, chunkBytes());
  if (!written) return keepInMemory(errno);
  m_chunks[chunk] = std::move(written);
  m_fileBytes = std::max(m_fileBytes, offset + static_cast<std::int64_t>(chunkBytes()));
}

void ColumnFile::keepInMemory(int error) {
  m_useFile = false;
  m_notice =
      tr("The charts' data stays in memory: no room for it in the folder %1 (%2). Free some disk space or choose "
         "another cache folder.")
          .arg(QDir::toNativeSeparators(m_folder), QString::fromLocal8Bit(std::strerror(error)));
}

} // namespace millrace::ui
