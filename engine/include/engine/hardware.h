// HardwareProfile: what a machine has, as a value. Pure data: engine/hardware detects it, tests and the planner make it
// by hand. A size of 0 means that the machine did not say.
#pragma once

#include "base/result.h"
#include "base/units.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

/// Instruction sets that both the processor has and the operating system lets programs use.
struct InstructionSets {
  bool sse42 = false;
  bool avx2 = false;   ///< with FMA and F16C, which the AVX2 kernels use as well
  bool avx512 = false; ///< F, BW, DQ and VL together
  bool avx512Bf16 = false;
  bool avx512Vnni = false;
  bool amxBf16 = false;
  bool operator==(const InstructionSets&) const = default;
};

/// All caches of one kind taken together.
struct CacheFacts {
  int level = 0;
  Bytes size = 0; ///< of one cache
  int count = 0;  ///< how many of them the machine has
  bool operator==(const CacheFacts&) const = default;
};

struct NumaNode {
  int index = 0; ///< the operating system's number
  Bytes memory = 0;
  int cores = 0;
  int threads = 0;
  bool operator==(const NumaNode&) const = default;
};

struct CpuFacts {
  std::string name;
  std::string architecture; ///< "x86_64"
  int packages = 0;
  int cores = 0;                   ///< physical
  int threads = 0;                 ///< hardware threads (processing units)
  int allowedCores = 0;            ///< physical cores that this process may run on
  int allowedThreads = 0;          ///< hardware threads that this process may run on
  std::optional<double> quota;     ///< hardware threads' worth of time that the cgroups grant; absent: no limit
  std::string quotaSource;         ///< the file that sets the quota
  int usableCores = 0;             ///< how many compute threads to run: allowed cores within the quota, at least 1
  std::vector<CacheFacts> caches;  ///< data and unified, by level
  std::vector<NumaNode> numaNodes; ///< by index
  InstructionSets instructionSets;
  bool operator==(const CpuFacts&) const = default;
};

struct MemoryFacts {
  Bytes total = 0;
  Bytes available = 0;             ///< what the kernel can give without swapping (MemAvailable)
  std::optional<Bytes> groupLimit; ///< the smallest limit of this process's cgroup and its ancestors
  std::string groupLimitSource;    ///< the file that sets it
  std::optional<Bytes> groupFree;  ///< what the tightest of these cgroups still grants, page cache counted as free
  Bytes usable = 0;                ///< what this process can take now: available and groupFree, whichever is less
  std::optional<Bytes> lockLimit;  ///< RLIMIT_MEMLOCK; absent: no limit
  Bytes hugePageSize = 0;
  std::int64_t hugePagesFree = 0;   ///< of the explicitly reserved ones
  std::string transparentHugePages; ///< "always", "madvise", "never"
  bool operator==(const MemoryFacts&) const = default;
};

/// The file system behind a folder.
struct DiskFacts {
  std::string folder;     ///< as asked
  std::string mountPoint; ///< of the file system that holds it
  std::string fileSystem; ///< "ext4", "overlay"
  std::string device;     ///< name of the whole disk in /sys/block ("nvme0n1"); empty when there is no single one
  std::string model;
  std::optional<bool> rotational;
  Bytes total = 0;
  Bytes free = 0; ///< to this user
  bool operator==(const DiskFacts&) const = default;
};

/// An NVIDIA display or 3D controller seen on the PCI bus, used or not.
struct GpuFacts {
  std::string pciAddress;  ///< "0000:17:00.0"
  std::string deviceId;    ///< "2335", hexadecimal
  std::string name;        ///< from the driver when it tells
  std::string boundDriver; ///< kernel driver bound to the card: "nvidia", "nouveau", "vfio-pci"; empty: none
  bool operator==(const GpuFacts&) const = default;
};

struct NvidiaFacts {
  std::vector<GpuFacts> gpus; ///< by PCI address
  std::string driverVersion;  ///< "570.86.15"; empty: the kernel module is not loaded
  bool deviceNodes = false;   ///< /dev/nvidiactl is there: a container was given access to the cards
  bool operator==(const NvidiaFacts&) const = default;
};

/// A rate that somebody measured on this machine, and where the figure came from.
struct MeasuredRate {
  std::string what;       ///< "host memory copy", "disk read"
  double perSecond = 0;   ///< in `unit`
  std::string unit;       ///< "bytes", "flop"
  std::string source;     ///< the probe
  std::string measuredAt; ///< ISO 8601, UTC
  bool operator==(const MeasuredRate&) const = default;
};

struct HardwareProfile {
  std::string host;
  std::string kernel; ///< release of the operating system's kernel
  CpuFacts cpu;
  MemoryFacts memory;
  std::vector<DiskFacts> disks; ///< one for each folder that was asked about
  NvidiaFacts nvidia;
  std::vector<MeasuredRate> rates;
  std::vector<std::string> unknown; ///< what could not be found out, and why
  bool operator==(const HardwareProfile&) const = default;
};

/// Looks at this machine. Quick, and never fails as a whole: see HardwareProfile::unknown. folders: where the caller
/// means to write; each gives one DiskFacts. Any thread.
HardwareProfile inspectMachine(const std::vector<std::filesystem::path>& folders = {});

/// Why NVIDIA cards that are seen are not used by this build: a line each, with the fix. Empty: nothing to say.
std::vector<std::string> gpuNotices(const HardwareProfile& profile);

/// Whether this build computes on "auto", "cpu" or "cuda:N"; BadInput with the reason. what: names the setting.
Status checkDevice(const std::string& device, const std::string& what);

/// Lines of "name  value" for people, the notices at the end.
std::string hardwareReport(const HardwareProfile& profile);
/// One JSON object, the notices in "notices"; sizes in bytes, what is not there null.
std::string hardwareJson(const HardwareProfile& profile);

} // namespace millrace
