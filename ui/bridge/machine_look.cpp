#include "bridge/machine_look.h"

#include "bridge/this_machine.h"
#include "engine/machines.h"

#include <algorithm>

namespace millrace::ui {

namespace {

/// Of rates that were measured here; another version's or another number of threads' are this machine's own all the
/// same.
bool isThisMachine(const MachineKey& key, const HardwareProfile& profile) {
  return key.host == profile.host && key.processor == profile.cpu.name;
}

} // namespace

std::vector<ComputeDevice> computeDevices(const HardwareProfile& profile) {
  std::vector<ComputeDevice> devices{{"cpu", profile.cpu.name.empty() ? "CPU" : profile.cpu.name}};
  for (const GpuFacts& gpu : profile.nvidia.gpus) {
    const std::string setting = "cuda:" + std::to_string(gpu.index);
    if (gpu.index >= 0 && checkDevice(setting, "device")) devices.push_back({setting, gpu.name});
  }
  return devices;
}

MachineLook lookAtMachine(const std::vector<std::filesystem::path>& directories) {
  MachineLook look;
  LocalFileSystem files;
  Project project;
  project.memory.nvme.directories = directories;
  look.profile = inspectMachine(foldersOf(project));
  look.topology = machineTopology(look.profile);
  look.devices = computeDevices(look.profile);
  look.notices = gpuNotices(look.profile);
  look.notices.insert(look.notices.end(), look.profile.unknown.begin(), look.profile.unknown.end());
  const auto isUsable = [&](const GpuFacts& gpu) {
    return std::any_of(look.devices.begin(), look.devices.end(), [&](const ComputeDevice& device) {
      return device.setting == "cuda:" + std::to_string(gpu.index);
    });
  };
  std::string notice;
  HardwareProfile profile = withCachedRates(files, look.profile, 0, -1, &notice);
  look.ratesNotices.push_back(notice);
  for (std::size_t gpu = 0; gpu < look.profile.nvidia.gpus.size(); ++gpu) {
    if (!isUsable(look.profile.nvidia.gpus[gpu])) continue;
    profile = withCachedRates(files, std::move(profile), 0, static_cast<int>(gpu), &notice);
    look.ratesNotices.push_back(notice);
  }
  look.profile = withAssumedRates(std::move(profile));
  for (MachineKey& key : cachedMachines(files, ratesCacheFile()))
    if (!isThisMachine(key, look.profile)) look.others.push_back(std::move(key));
  return look;
}

} // namespace millrace::ui
