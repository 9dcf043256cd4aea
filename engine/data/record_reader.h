// Cuts source files into records: a line of a .jsonl file, an element of a .json file that is one list, or a document
// of a text file or a part of a long one. Reads in pieces, so that memory stays bounded whatever is in the files. One
// thread.
#pragma once

#include "base/hash.h"
#include "data/json_elements.h"
#include "data/source_files.h"
#include "data/source_stream.h"

#include <optional>

namespace millrace {

struct RecordLimits {
  Bytes fragment = MiB;      ///< text documents are cut behind a suitable line feed from here on
  Bytes document = 64 * MiB; ///< and anywhere from here on
  Bytes row = 64 * MiB;      ///< longer rows of JSON are not read
};

struct RawRecord {
  std::size_t file = 0;  ///< index into the list of files
  std::int64_t line = 0; ///< where it begins, from 1
  std::string bytes;     ///< as in the file, but with LF line ends in text files
  bool first = true;     ///< begins a document
  bool last = true;      ///< ends a document
  std::string problem;   ///< why this row cannot be used, if it cannot; bytes are empty then
};

class RecordReader {
 public:
  RecordReader(FileSystem& files, std::vector<SourceFile> sources, RecordLimits limits = {});

  /// False at the end of the last file.
  Result<bool> next(RawRecord& record);
  const std::vector<SourceFile>& sources() const { return m_sources; }
  /// Of the files themselves, which may be compressed.
  Bytes bytesRead() const { return m_bytesOfClosed + (m_stream ? m_stream->fileBytesRead() : 0); }
  /// XXH3-128 of each file's bytes, of the files that are read to their end.
  const std::vector<std::string>& hashes() const { return m_hashes; }

 private:
  /// The next part of a line, all of it if it is short. False at the end of the file.
  Result<bool> nextPart(std::string_view& part, bool& lineEnds);
  Result<bool> openNext();
  Result<bool> nextLine(RawRecord& record);
  Result<bool> nextText(RawRecord& record);
  Result<bool> nextElement(RawRecord& record);
  Status fillBlock();

  FileSystem& m_files;
  std::vector<SourceFile> m_sources;
  RecordLimits m_limits;
  std::size_t m_next = 0; ///< the file after the open one
  std::unique_ptr<SourceStream> m_stream;
  std::optional<JsonElements> m_elements; ///< the open file is one list
  bool m_listEnded = false;
  std::string m_block;
  std::size_t m_at = 0; ///< in the block
  bool m_lineEnded = true;
  std::int64_t m_line = 0;
  bool m_inDocument = false; ///< a part of the document was given out
  std::string m_carry;       ///< text read but not yet given out
  std::int64_t m_carryLine = 1;
  bool m_endOfText = false; ///< the separator or the end of the file stands behind the carry
  Bytes m_bytesOfClosed = 0;
  std::vector<std::string> m_hashes;
};

/// XXH3-128 of a file's bytes, read in pieces; `seen` is called with the size of each.
Result<std::string> hashFile(FileSystem& files, const Path& path, const std::function<Status(Bytes)>& seen);

} // namespace millrace
