// Files of sources made in memory, and what is read from them, for tests.
#pragma once

#include "data/record_reader.h"
#include "support/memory_file_system.h"

#include <QStringList>
#include <zstd.h>

namespace millrace::test {

inline void writeFile(FileSystem& files, const Path& path, std::string_view bytes) {
  if (path.has_parent_path()) valueOrThrow(files.createDirectories(path.parent_path()));
  const auto file = valueOrThrow(files.open(path, OpenMode::Create));
  valueOrThrow(file->write(std::as_bytes(std::span(bytes)), 0));
}

/// One frame. window: its size as a power of two, at least; 0: the library's choice.
inline std::string zstdFrame(std::string_view text, int window = 0, bool checksum = true) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  if (window > 0) ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window);
  std::string frame(ZSTD_compressBound(text.size()) + 64, '\0');
  ZSTD_inBuffer in{text.data(), text.size(), 0};
  ZSTD_outBuffer out{frame.data(), frame.size(), 0};
  // Without the size in front, so that the window is what was asked for.
  while (ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue) > 0 && in.pos < in.size) {
  }
  while (ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) > 0) {
  }
  ZSTD_freeCCtx(context);
  frame.resize(out.pos);
  return frame;
}

/// A frame that readers pass over.
inline std::string skippableFrame(std::string_view content) {
  std::string frame("\x50\x2A\x4D\x18", 4);
  for (int i = 0; i < 4; ++i) frame += static_cast<char>(content.size() >> (8 * i) & 0xFF);
  return frame + std::string(content);
}

/// "line:bytes" of every record, or "line!problem"; documents in parts are joined. Ends with the error, if there is
/// one.
inline QStringList recordsOf(FileSystem& files, const SourceFile& source, RecordLimits limits = {}) {
  RecordReader reader(files, {source}, limits);
  QStringList all;
  RawRecord record;
  for (;;) {
    const auto got = reader.next(record);
    if (!got) return all << "error: " + QString::fromStdString(got.error().message);
    if (!*got) return all;
    const QString text = QString::fromStdString(record.bytes);
    if (!record.first)
      all.back() += text;
    else
      all << QString("%1%2%3")
                 .arg(record.line)
                 .arg(record.problem.empty() ? ":" : "!", record.problem.empty() ? text : record.problem.c_str());
  }
}

} // namespace millrace::test
