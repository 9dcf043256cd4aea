// Made-up machines as the Hardware page is shown them: one without a GPU that was never measured, one with two.
#pragma once

#include "bridge/machine_look.h"
#include "engine/machine_monitor.h"
#include "engine/machines.h"

#include <string>

namespace millrace::test {

inline TopologyNode node(TopologyKind kind, std::vector<TopologyNode> children = {}) {
  TopologyNode made;
  made.kind = kind;
  made.children = std::move(children);
  return made;
}

/// So many cores behind caches of 48 KiB and 2 MiB.
inline TopologyNode coresOf(int cores) {
  TopologyNode core = node(TopologyKind::Core);
  core.threads = 2;
  TopologyNode first = node(TopologyKind::Cache, {core});
  first.level = 1;
  first.size = 48 * KiB;
  TopologyNode second = node(TopologyKind::Cache, {first});
  second.level = 2;
  second.size = 2 * MiB;
  second.count = cores;
  TopologyNode third = node(TopologyKind::Cache, {second});
  third.level = 3;
  third.size = 105 * MiB;
  return third;
}

inline TopologyNode numaNode(int index, Bytes size) {
  TopologyNode made = node(TopologyKind::NumaNode);
  made.index = index;
  made.size = size;
  return made;
}

/// "/runs" on an overlay, whose disk is not told.
inline ui::MachineLook plainMachine() {
  ui::MachineLook look;
  HardwareProfile& profile = look.profile;
  profile.host = "box";
  profile.kernel = "6.1.0-18-amd64";
  profile.cpu.name = "Imaginary 9000 CPU @ 3GHz";
  profile.cpu.packages = 1;
  profile.cpu.cores = 16;
  profile.cpu.threads = 32;
  profile.cpu.usableCores = 4;
  profile.cpu.quota = 4;
  profile.cpu.quotaSource = "/sys/fs/cgroup/job/cpu.max";
  profile.cpu.instructionSets.avx2 = profile.cpu.instructionSets.avx512 = true;
  profile.memory.total = 64 * GiB;
  profile.memory.usable = 41 * GiB;
  DiskFacts disk;
  disk.folder = "/home/ann/.local/share/millrace/runs";
  disk.mountPoint = "/";
  disk.fileSystem = "overlay";
  disk.total = 500 * GiB;
  disk.free = 123 * GiB;
  profile.disks = {disk};
  profile = withAssumedRates(std::move(profile));
  TopologyNode package = node(TopologyKind::Package, {numaNode(0, 64 * GiB), coresOf(16)});
  package.name = profile.cpu.name;
  TopologyNode files = node(TopologyKind::FileSystem);
  files.name = "/";
  files.size = disk.total;
  files.fact = 0;
  look.topology = node(TopologyKind::Machine, {package, files});
  look.topology.name = "box";
  look.topology.size = 64 * GiB;
  look.devices = {{"cpu", profile.cpu.name}};
  look.ratesNotices = {"this machine's rates were never measured; measure with: millrace bench machine"};
  look.others = {{"elsewhere", "Another CPU", "NVIDIA H200", 16, "0.1.0"}};
  return look;
}

/// With an NVMe drive and two cards; all of the first card's rates and the drive's were measured.
inline ui::MachineLook gpuMachine(const std::string& host = "node-17") {
  ui::MachineLook look = plainMachine();
  HardwareProfile& profile = look.profile;
  profile.host = host;
  profile.cpu.packages = 2;
  profile.cpu.cores = 96;
  profile.cpu.threads = 192;
  profile.cpu.usableCores = 96;
  profile.cpu.quota.reset();
  profile.cpu.instructionSets.amxBf16 = true;
  profile.memory.total = 2048 * GiB;
  profile.memory.usable = 1900 * GiB;
  profile.nvidia.driverVersion = "570.86.15";
  const auto measured = [](double perSecond) {
    return Rate{perSecond, RateOrigin::Measured, "probe", "2026-11-30T10:20:00Z"};
  };
  for (int i = 0; i < 2; ++i) {
    GpuFacts gpu;
    gpu.index = i;
    gpu.pciAddress = i == 0 ? "0000:17:00.0" : "0000:ab:00.0";
    gpu.name = "NVIDIA H200";
    gpu.memoryTotal = 141 * GiB;
    gpu.memoryFree = 139 * GiB;
    gpu.capability = ComputeCapability{9, 0};
    gpu.maximalLink = {5, 16};
    gpu.powerLimit = 700;
    if (i == 0)
      gpu.rates = {measured(55.2e9), measured(54.8e9), measured(98e9),  measured(51e12),
                   measured(380e12), measured(742e12), measured(4.1e12)};
    profile.nvidia.gpus.push_back(gpu);
  }
  profile.hostRates = {measured(310e9), measured(4.7e9), measured(3.9e9), measured(4.6e9), measured(3.8e9)};
  DiskFacts nvme;
  nvme.folder = nvme.mountPoint = "/mnt/nvme";
  nvme.fileSystem = "xfs";
  nvme.device = "nvme0n1";
  nvme.kind = DiskKind::Nvme;
  nvme.total = 7000 * GiB;
  nvme.free = 6400 * GiB;
  nvme.rates = {measured(6.8e9), measured(5.1e9)};
  profile.disks.push_back(nvme);
  profile = withAssumedRates(std::move(profile));
  look.topology = node(TopologyKind::Machine);
  look.topology.name = host;
  look.topology.size = profile.memory.total;
  for (int i = 0; i < 2; ++i) {
    TopologyNode package = node(TopologyKind::Package, {numaNode(i, 1024 * GiB), coresOf(48)});
    package.index = i;
    package.name = profile.cpu.name;
    TopologyNode gpu = node(TopologyKind::Gpu);
    gpu.pciAddress = profile.nvidia.gpus[static_cast<std::size_t>(i)].pciAddress;
    gpu.fact = i;
    package.children.push_back(gpu);
    if (i == 1) {
      TopologyNode files = node(TopologyKind::FileSystem);
      files.name = nvme.mountPoint;
      files.fact = 1;
      TopologyNode disk = node(TopologyKind::Disk, {files});
      disk.name = nvme.device;
      disk.size = 7200 * GiB;
      disk.pciAddress = "0000:c1:00.0";
      package.children.push_back(disk);
    }
    look.topology.children.push_back(package);
  }
  look.devices.push_back({"cuda:0", "NVIDIA H200"});
  look.devices.push_back({"cuda:1", "NVIDIA H200"});
  look.ratesNotices = {look.ratesNotices[0], "", ""};
  return look;
}

/// What two busy cards and their machine tell.
inline MachineLoad busyLoad() {
  MachineLoad load;
  load.cpu = 0.37;
  load.memoryUsed = 812 * GiB;
  load.memoryTotal = 2048 * GiB;
  load.gpus = {{"0000:17:00.0", GpuMetrics{0.97, 611.0, 68.0, 98.0 * GiB, 38.2e9, 12.1e9}},
               {"0000:ab:00.0", std::nullopt}}; // fallen silent
  return load;
}

} // namespace millrace::test
