#include "hardware/detect.h"

#include "hardware/disk.h"
#include "hardware/instruction_sets.h"
#include "hardware/memory.h"
#include "hardware/nvidia.h"
#include "hardware/nvml.h"
#include "hardware/system_files.h"
#include "hardware/topology.h"

#include <algorithm>
#include <cctype>

namespace millrace {

namespace {

bool underWindows(const SystemFiles& files, std::string release) {
  std::transform(release.begin(), release.end(), release.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return release.find("microsoft") != std::string::npos || files.exists("/proc/sys/fs/binfmt_misc/WSLInterop");
}

Status askDriver(const HardwareSources& sources, const SystemFiles& files, HardwareProfile& profile) {
  if (sources.nvml) return addNvmlFacts(*sources.nvml, files, profile.nvidia, profile.unknown);
  if (sources.root != "/") return failed("the driver's library is not looked for here");
  MILLRACE_TRY(const NvmlLibrary library, NvmlLibrary::open());
  return addNvmlFacts(library.api(), files, profile.nvidia, profile.unknown);
}

/// Without a sign of a card or a driver nobody is told that there is no NVML.
void addDriverFacts(const HardwareSources& sources, const SystemFiles& files, HardwareProfile& profile) {
  NvidiaFacts& nvidia = profile.nvidia;
  const bool signs = std::any_of(nvidia.gpus.begin(), nvidia.gpus.end(),
                                 [](const GpuFacts& gpu) { return gpu.boundDriver != "vfio-pci"; }) ||
                     !nvidia.driverVersion.empty() || nvidia.deviceNodes || (profile.wsl && files.exists("/dev/dxg"));
  if (!signs) return;
  if (const Status asked = askDriver(sources, files, profile); !asked) {
    // Under WSL /dev/dxg is there for every maker's GPU.
    if (!nvidia.gpus.empty() || !nvidia.driverVersion.empty() || nvidia.deviceNodes)
      profile.unknown.push_back("memory and processes of NVIDIA GPUs: " + asked.error().message);
  }
  // The Windows desktop is on some GPU, and its driver does not tell which.
  if (profile.wsl)
    for (GpuFacts& gpu : nvidia.gpus) gpu.displayAttached = true;
}

} // namespace

HardwareProfile detectHardware(const std::vector<std::filesystem::path>& folders, const HardwareSources& sources) {
  const SystemFiles files(sources.root);
  HardwareProfile profile;
  profile.host = files.text("/proc/sys/kernel/hostname").value_or("");
  profile.kernel = files.text("/proc/sys/kernel/osrelease").value_or("");
  profile.wsl = underWindows(files, profile.kernel);
  profile.cpu = readCpuFacts(files, sources.topologyXml, profile.unknown);
  profile.cpu.instructionSets = decodeInstructionSets(readCpuid());
  profile.memory = readMemoryFacts(files, profile.unknown);
  for (const Path& folder : folders) {
    if (auto disk = readDiskFacts(files, folder))
      profile.disks.push_back(std::move(*disk));
    else
      profile.unknown.push_back(disk.error().message);
  }
  profile.nvidia = readNvidiaFacts(files);
  addDriverFacts(sources, files, profile);
  return profile;
}

} // namespace millrace
