#include "run/state_drives.h"

#include <algorithm>

namespace millrace {

namespace {
bool isNamed(const NvmeConfig& nvme, const DiskFacts& disk) {
  return std::find(nvme.directories.begin(), nvme.directories.end(), std::filesystem::path(disk.folder)) !=
         nvme.directories.end();
}
} // namespace

std::optional<DiskFacts> checkpointDisk(const HardwareProfile& machine, const NvmeConfig& nvme) {
  std::optional<DiskFacts> found;
  for (const DiskFacts& disk : machine.disks)
    if (!found || isNamed(nvme, *found)) found = disk;
  return found;
}

void keepStateDrives(HardwareProfile& machine, const NvmeConfig& nvme) {
  const auto named = [&](const DiskFacts& disk) { return isNamed(nvme, disk); };
  if (std::any_of(machine.disks.begin(), machine.disks.end(), named))
    std::erase_if(machine.disks, [&](const DiskFacts& disk) { return !named(disk); });
}

bool holdsCheckpoints(const HardwareProfile& machine, const DiskFacts& checkpoints) {
  return std::any_of(machine.disks.begin(), machine.disks.end(), [&](const DiskFacts& disk) {
    return disk.folder == checkpoints.folder || (!disk.mountPoint.empty() && disk.mountPoint == checkpoints.mountPoint);
  });
}

Bytes checkpointDiskBytes(const Project& project, std::int64_t parameters) {
  const std::int64_t kept = std::max<std::int64_t>(1, project.checkpoint.keep) + (project.checkpoint.keepBest ? 1 : 0);
  return (kept + 1) * 12 * parameters;
}

} // namespace millrace
