// HardwareProfile: what a machine has, as a value. Pure data: engine/hardware detects it, tests and the planner make it
// by hand. A size of 0 means that the machine did not say.
#pragma once

#include "base/result.h"
#include "base/units.h"
#include "engine/rates.h"

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

enum class DiskKind : std::uint8_t { Unknown, Nvme, Ssd, Hdd, Network, Memory };

/// The file system behind a folder.
struct DiskFacts {
  std::string folder;     ///< as asked
  std::string mountPoint; ///< of the file system that holds it
  std::string fileSystem; ///< "ext4", "overlay"
  std::string device;     ///< name of the whole disk in /sys/block ("nvme0n1"); empty when there is no single one
  std::string model;
  DiskKind kind = DiskKind::Unknown;
  bool network = false; ///< reached over a network, or lent by the host that this machine is a guest of
  Bytes total = 0;
  Bytes free = 0;           ///< to this user
  Bytes ratedEndurance = 0; ///< bytes that its maker lets be written in its life (TBW), as entered; 0: not entered
  DiskRates rates;
  bool operator==(const DiskFacts&) const = default;
};

struct GpuProcess {
  std::int64_t pid = 0;        ///< as the driver counts; in a container perhaps another than this system's
  std::string name;            ///< empty: not told
  std::optional<Bytes> memory; ///< absent: the driver does not tell (Windows hosts, other users' containers)
  bool operator==(const GpuProcess&) const = default;
};

/// A PCI Express link; 0: not known.
struct PciLink {
  int generation = 0;
  int width = 0; ///< lanes
  bool operator==(const PciLink&) const = default;
};

struct ComputeCapability {
  int major = 0;
  int minor = 0;
  auto operator<=>(const ComputeCapability&) const = default;
};

/// An NVIDIA display or 3D controller, used or not. Without the driver's own library only what the PCI bus shows is
/// known: then memoryTotal is 0, which means that nothing can be planned on the card.
struct GpuFacts {
  int index = -1; ///< the driver's number, in the order of PCI addresses; -1: the driver does not offer the card
  std::string pciAddress;  ///< "0000:17:00.0"
  std::string deviceId;    ///< "2335", hexadecimal
  std::string name;        ///< from the driver when it tells
  std::string boundDriver; ///< kernel driver bound to the card: "nvidia", "nouveau", "vfio-pci"; empty: none
  std::string uuid;
  Bytes memoryTotal = 0;
  Bytes memoryFree = 0; ///< now, with what all other programs hold taken off
  std::vector<GpuProcess> processes;
  std::optional<ComputeCapability> capability;
  PciLink link;        ///< now: an idle link saves power and reads low, so look at it under load
  PciLink maximalLink; ///< what card and slot can do together
  std::optional<int> numaNode;
  bool displayAttached = false; ///< a screen or a desktop is on it, which takes memory when it likes
  double powerLimit = 0;        ///< watts; 0: not known
  DeviceRates rates;
  bool operator==(const GpuFacts&) const = default;
};

struct NvidiaFacts {
  std::vector<GpuFacts> gpus; ///< by PCI address
  std::string driverVersion;  ///< "570.86.15"; empty: the kernel module is not loaded
  bool deviceNodes = false;   ///< /dev/nvidiactl is there: a container was given access to the cards
  bool operator==(const NvidiaFacts&) const = default;
};

struct HardwareProfile {
  std::string name;   ///< of a machine that a file describes; empty: this machine, just looked at
  std::string source; ///< where the figures of such a file are from
  std::string host;
  std::string kernel;   ///< release of the operating system's kernel
  bool wsl = false;     ///< Linux under Windows: pinned memory is capped there, whatever the limits say
  double hostPower = 0; ///< watts that the machine draws under load besides its GPUs, as entered; 0: not entered
  CpuFacts cpu;
  MemoryFacts memory;
  std::vector<DiskFacts> disks; ///< one for each folder that was asked about
  NvidiaFacts nvidia;
  DeviceRates cpuRates; ///< of the CPU as the device that computes
  HostRates hostRates;
  std::vector<std::string> unknown; ///< what could not be found out, and why
  bool operator==(const HardwareProfile&) const = default;
};

/// Looks at this machine. Quick, and never fails as a whole: see HardwareProfile::unknown. folders: where the caller
/// means to write; each gives one DiskFacts. Any thread.
HardwareProfile inspectMachine(const std::vector<std::filesystem::path>& folders = {});

/// Why NVIDIA cards that are seen are not used by this build: a line each, with the fix. Empty: nothing to say, as
/// always of a machine that a file describes.
std::vector<std::string> gpuNotices(const HardwareProfile& profile);

/// Whether this program computes on "auto", "cpu" or "cuda:N" of this machine; BadInput with the reason. what: names
/// the setting.
Status checkDevice(const std::string& device, const std::string& what);

/// Lines of "name  value" for people, what can be used of each memory after them, the notices at the end.
std::string hardwareReport(const HardwareProfile& profile);
/// One JSON object: what a machine file holds (engine/machines.h) and besides "budgets" and "notices". Sizes in bytes,
/// what is not there null.
std::string hardwareJson(const HardwareProfile& profile);

} // namespace millrace
