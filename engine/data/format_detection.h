// What the rows of a source hold, found out by looking at the first of them.
#pragma once

#include "data/source_files.h"

namespace millrace {

struct DetectedFormat {
  DataFormat format = DataFormat::Jsonl;
  std::string why; ///< "row 1 has a list 'messages'"
};

/// Reads rows of the file until one of the first 100 tells; none does: Jsonl, which reading then finds out to be wrong.
Result<DetectedFormat> detectFormat(FileSystem& files, const SourceFile& source);

/// Decides the format of every file where it is Auto.
Status detectFormats(FileSystem& files, std::vector<SourceFile>& sources);

} // namespace millrace
