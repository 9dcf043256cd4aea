// manifest.json: what a checkpoint folder consists of. It is written last, so a folder with a manifest was complete;
// sizes and checksums say whether it still is, and the manifest carries a checksum of itself.
#pragma once

#include "base/file.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

struct ManifestFile {
  std::string name; ///< inside the folder
  Bytes size = 0;
  std::string xxh3; ///< XXH3-128, 32 hexadecimal digits
};

struct Manifest {
  std::int64_t step = 0;
  std::vector<ManifestFile> files;
  const ManifestFile* find(const std::string& name) const;
};

constexpr const char* manifestName = "manifest.json";

std::string manifestText(const Manifest& manifest);
/// BadInput when it is missing, damaged, or of a format that this build does not know.
Result<Manifest> readManifest(FileSystem& files, const Path& folder);

} // namespace millrace
