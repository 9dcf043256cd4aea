// The rates that a run is predicted from: what was measured on this machine, and for the rest what is assumed of
// machines like it.
#pragma once

#include "base/file.h"
#include "engine/hardware.h"
#include "engine/project.h"

#include <string>

namespace millrace {

/// The profile with all rates. Of this machine the measured ones of what computes (gpu: index into profile.nvidia.gpus,
/// negative for the CPU) are looked up in its cache; of a machine that a file describes it is the file's word. notice:
/// gets what a person should know of the cache; empty: nothing.
HardwareProfile withRates(FileSystem& files, HardwareProfile profile, const Project& project, int gpu = -1,
                          std::string* notice = nullptr);

} // namespace millrace
