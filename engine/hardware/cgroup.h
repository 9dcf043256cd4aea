// Limits that control groups put on this process: version 1, version 2, or both mounted together. A limit anywhere
// between the process's group and the top counts, so the tightest one is what holds.
#pragma once

#include "hardware/system_files.h"

#include <optional>
#include <string>

namespace millrace {

struct CgroupMemory {
  std::optional<Bytes> limit; ///< smallest limit; absent: none
  std::string limitSource;    ///< the file that says so
  std::optional<Bytes> free;  ///< least that any limited group still grants; its page cache counts as free
};

struct CgroupCpu {
  std::optional<double> quota; ///< processors' worth of time; absent: no limit
  std::string source;          ///< the file that says so
};

CgroupMemory cgroupMemory(const SystemFiles& files);
CgroupCpu cgroupCpu(const SystemFiles& files);

} // namespace millrace
