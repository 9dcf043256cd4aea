// The file system and the disk behind a folder.
#pragma once

#include "engine/hardware.h"
#include "hardware/system_files.h"

namespace millrace {

/// folder: need not exist yet; its nearest existing ancestor is looked at. Errors: no such ancestor can be examined.
Result<DiskFacts> readDiskFacts(const SystemFiles& files, const Path& folder);

} // namespace millrace
