// The disks of a machine as a run uses them: which hold state, which holds checkpoints, and what each leaves to the
// other. For running and for planning alike. Pure.
#pragma once

#include "engine/hardware.h"
#include "engine/project.h"

#include <optional>

namespace millrace {

/// Where checkpoints go: the first disk that is no drive for state, or the last one where all are; nullopt: no disk is
/// known.
std::optional<DiskFacts> checkpointDisk(const HardwareProfile& machine, const NvmeConfig& nvme);

/// Leaves the drives for state alone in the profile, where the project names some that are in it.
void keepStateDrives(HardwareProfile& machine, const NvmeConfig& nvme);

/// Whether a drive of the machine, which are all for state, is the disk of the checkpoints.
bool holdsCheckpoints(const HardwareProfile& machine, const DiskFacts& checkpoints);

/// Of all checkpoints that stand at one time, the one that is being written among them.
Bytes checkpointDiskBytes(const Project& project, std::int64_t parameters);

} // namespace millrace
