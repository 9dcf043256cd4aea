// What source files are known by, so that tokens are found again and a run that goes on learns from the same text.
#pragma once

#include "base/hash.h"
#include "data/source_files.h"

namespace millrace {

struct FileIdentity {
  Bytes size = 0;
  std::int64_t modified = 0;
  std::string hash; ///< XXH3-128 of the contents, where they are known by these
};

/// Sources of up to this many bytes are known by their contents alone: names and times play no part. Hashing more would
/// keep a run waiting, so each file of larger ones is known by its size, the time of its last change and samples of its
/// contents. The time tells of changes in place; the samples tell apart what tools give one time to (archives that are
/// unpacked, files that are generated). Paths play no part there either: a folder may be moved.
constexpr Bytes wholeIdentityLimit = GiB;

struct SourceIdentity {
  std::vector<FileIdentity> files;
  std::string hash; ///< of all of them in their order, with how they are read: 32 digits
  Bytes bytes = 0;
};

/// wholeLimit: see above. progress: of the bytes that are hashed.
Result<SourceIdentity> identifySources(FileSystem& files, const std::vector<SourceFile>& sources,
                                       const DataProgressCallback& progress, Bytes wholeLimit = wholeIdentityLimit);

/// An error that names the file when its size or time is another than the identity's.
Status checkUnchanged(FileSystem& files, const SourceFile& source, const FileIdentity& identity);

/// That names the file.
Error changedMeanwhile(const SourceFile& source);

} // namespace millrace
