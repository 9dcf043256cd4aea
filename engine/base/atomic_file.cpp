#include "base/atomic_file.h"

#include <utility>

namespace millrace {

AtomicFile::AtomicFile(FileSystem& files, Path path, Path temporary, std::unique_ptr<File> file)
    : m_files(&files), m_path(std::move(path)), m_temporary(std::move(temporary)), m_file(std::move(file)) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept = default;

AtomicFile::~AtomicFile() {
  if (!m_file) return;
  m_file.reset();
  (void)m_files->remove(m_temporary); // best effort: the name says that it is temporary
}

Result<AtomicFile> AtomicFile::create(FileSystem& files, const Path& path) {
  Path temporary = path;
  temporary += ".tmp";
  MILLRACE_TRY(auto file, files.open(temporary, OpenMode::Create));
  return AtomicFile(files, path, std::move(temporary), std::move(file));
}

Status AtomicFile::write(std::span<const std::byte> bytes) {
  MILLRACE_CHECK(m_file->write(bytes, m_written));
  m_written += static_cast<Bytes>(bytes.size());
  return {};
}

Status AtomicFile::write(std::string_view text) {
  return write(std::as_bytes(std::span(text)));
}

Status AtomicFile::commit() {
  MILLRACE_CHECK(m_file->sync());
  MILLRACE_CHECK(m_files->rename(m_temporary, m_path));
  m_file.reset();
  return m_files->syncDirectory(m_path.has_parent_path() ? m_path.parent_path() : Path("."));
}

Status writeTextFile(FileSystem& files, const Path& path, std::string_view text) {
  MILLRACE_TRY(AtomicFile file, AtomicFile::create(files, path));
  MILLRACE_CHECK(file.write(text));
  return file.commit();
}

} // namespace millrace
