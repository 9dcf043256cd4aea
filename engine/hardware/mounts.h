// The lines of /proc/self/mountinfo.
#pragma once

#include "hardware/system_files.h"

#include <string>
#include <vector>

namespace millrace {

struct Mount {
  std::string device; ///< "major:minor"; major 0 for file systems that are not on one block device
  std::string root;   ///< which part of the file system is mounted
  std::string mountPoint;
  std::string type;    ///< "ext4", "cgroup2"
  std::string source;  ///< "/dev/sda1"
  std::string options; ///< of the file system, comma separated
};

/// In the kernel's order: of two with the same mount point the later one is on top. Malformed lines are left out.
std::vector<Mount> readMounts(const SystemFiles& files);

} // namespace millrace
