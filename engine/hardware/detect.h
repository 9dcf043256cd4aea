// Looks at the machine and tells what it has. Quick (no measuring), never fails as a whole: what cannot be found out is
// listed in HardwareProfile::unknown.
#pragma once

#include "engine/hardware.h"
#include "hardware/nvml_api.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace millrace {

/// Where the facts are read from.
struct HardwareSources {
  std::filesystem::path root = "/";  ///< prefix of /proc, /sys and /dev
  std::filesystem::path topologyXml; ///< a topology that hwloc exported; empty: this machine's own
  std::optional<NvmlApi> nvml;       ///< absent: the driver's own library, or none where the root is not "/"
};

/// folders: where the caller means to write; each gives one DiskFacts. Any thread.
HardwareProfile detectHardware(const std::vector<std::filesystem::path>& folders = {},
                               const HardwareSources& sources = {});

} // namespace millrace
