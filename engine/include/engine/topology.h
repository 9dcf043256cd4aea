// The machine as a tree, as hwloc sees it: packages, memory, caches and cores, and the cards and disks at the place
// where they are attached. Plain values.
#pragma once

#include "engine/hardware.h"

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

enum class TopologyKind : std::uint8_t { Machine, Package, NumaNode, Cache, Core, Gpu, Disk, FileSystem };

struct TopologyNode {
  TopologyKind kind = TopologyKind::Machine;
  int index = 0;    ///< packages and cores as hwloc counts them, NUMA nodes as the operating system does
  int count = 1;    ///< so many alike stand beside each other: this is the first, and the children are those of one
  std::string name; ///< the processor, the card, the disk's device, the file system's mount point
  int level = 0;    ///< of a cache
  Bytes size = 0;   ///< of the memory, one cache, the disk, the file system; 0: not told
  int threads = 0;  ///< of one core
  std::string pciAddress; ///< "0000:17:00.0"; of cards and of disks that have one
  int fact = -1;          ///< of HardwareProfile::nvidia.gpus or HardwareProfile::disks; -1: not one of these
  std::vector<TopologyNode> children;
  bool operator==(const TopologyNode&) const = default;
};

/// The machine that a profile was made of, now. Its NVIDIA cards and the file systems that it asked about stand at
/// their place, those that hwloc does not see below the machine itself; where hwloc sees nothing at all they are all
/// that there is. Other makers' graphics cards and further disks are told as well. Quick, but reads many small files:
/// any thread but a window's.
TopologyNode machineTopology(const HardwareProfile& profile);

} // namespace millrace
