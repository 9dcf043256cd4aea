// What the driver tells of its GPUs through NVML, merged into what the PCI bus shows. Reads only; changes no setting.
#pragma once

#include "hardware/nvml_api.h"
#include "hardware/system_files.h"

#include "engine/hardware.h"

#include <string>
#include <vector>

namespace millrace {

/// Initialises the library, reads every GPU and shuts it down. Cards that the bus does not show (WSL, containers) are
/// added; those that the driver does not offer keep index -1 and memoryTotal 0. What single functions do not tell is
/// added to `unknown`. Errors: Failed, with `nvidia` as before, when the library cannot be used at all.
Status addNvmlFacts(const NvmlApi& api, const SystemFiles& files, NvidiaFacts& nvidia,
                    std::vector<std::string>& unknown);

/// "0000:17:00.0" of the driver's "00000000:17:00.0", which has more digits and capital letters.
std::string busAddress(std::string_view busId);

} // namespace millrace
