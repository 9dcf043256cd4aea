// From the paths of a DataSpec to the files behind them. Any thread.
#pragma once

#include "base/log.h"
#include "data/data_spec.h"
#include "data/token_shard.h"

#include <span>

namespace millrace {

/// How a file is cut into records.
enum class RecordLayout {
  Text,  ///< documents of plain text
  Lines, ///< JSON, a row a line
  List,  ///< JSON, one list of rows; or like Lines, if it does not begin with a bracket
};

/// One file and how to read it. The format of rows may still be Auto: detectFormats() decides.
struct SourceFile {
  Path path;
  RecordLayout layout = RecordLayout::Text;
  SourceFormat how;
};

/// Files in the order of the sources, those of a folder or pattern sorted by name. Files of unknown kinds in folders
/// are passed over with a line in the log; a source that gives no file is an error, and so is a named file of unknown
/// kind.
Result<std::vector<SourceFile>> findSourceFiles(FileSystem& files, const std::vector<SourcePattern>& sources, Log& log);

/// How the file is read, as far as it changes what is read.
std::string fingerprintOf(const SourceFile& source);

/// Bytes of all files together. Opens each of them; an error where one cannot be.
Result<Bytes> bytesOf(FileSystem& files, const std::vector<SourceFile>& sources);

/// That so many files hold nothing to learn from, and why; otherSets: names of sets that were not asked for.
Error noDocuments(std::span<const SourceFile> files, const CachedCounts& counts,
                  const std::vector<std::string>& otherSets = {});

} // namespace millrace
