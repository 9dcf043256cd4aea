// NVIDIA cards as the PCI bus shows them, and why one that is there is not used. Needs no driver and no CUDA.
#pragma once

#include "engine/hardware.h"
#include "hardware/system_files.h"

#include <string>
#include <vector>

namespace millrace {

NvidiaFacts readNvidiaFacts(const SystemFiles& files);

/// The version in the text of /proc/driver/nvidia/version, or empty.
std::string nvidiaDriverVersion(std::string_view text);

/// The oldest driver branch that runs programs of a CUDA release (1208 is 12.8, 1300 is 13.0).
int minimumDriverBranch(int cudaRelease);

/// One line for each reason why NVIDIA cards that are seen will not be used: what is seen, why, and the fix. Empty when
/// there is no card or when all can be used. cudaRelease: what the program was, or would be, built with.
std::vector<std::string> gpuNotices(const HardwareProfile& profile, bool builtWithCuda, int cudaRelease = 1208);

} // namespace millrace
