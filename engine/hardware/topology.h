// Packages, cores, hardware threads, caches and NUMA nodes by hwloc, and how many of them this process may use.
#pragma once

#include "engine/hardware.h"
#include "hardware/cgroup.h"
#include "hardware/system_files.h"

#include <vector>

namespace millrace {

/// Fills everything but the instruction sets. topologyXml: a file that hwloc exported, in place of this machine; empty:
/// this machine. What cannot be found out is added to `unknown` and left 0; usableCores is at least 1 in any case.
CpuFacts readCpuFacts(const SystemFiles& files, const Path& topologyXml, std::vector<std::string>& unknown);

/// Numbers of a kernel list such as "0-3,8,10-11"; empty when it is malformed.
std::vector<int> parseCpuList(std::string_view text);

} // namespace millrace
