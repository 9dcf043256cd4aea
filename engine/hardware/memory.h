// Host memory: how much there is, how much of it this process may take, and on what terms.
#pragma once

#include "engine/hardware.h"
#include "hardware/system_files.h"

namespace millrace {

/// What cannot be found out is added to `unknown` and left 0.
MemoryFacts readMemoryFacts(const SystemFiles& files, std::vector<std::string>& unknown);

} // namespace millrace
