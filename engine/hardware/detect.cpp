#include "hardware/detect.h"

#include "hardware/disk.h"
#include "hardware/instruction_sets.h"
#include "hardware/memory.h"
#include "hardware/nvidia.h"
#include "hardware/system_files.h"
#include "hardware/topology.h"

namespace millrace {

HardwareProfile detectHardware(const std::vector<std::filesystem::path>& folders, const HardwareSources& sources) {
  const SystemFiles files(sources.root);
  HardwareProfile profile;
  profile.host = files.text("/proc/sys/kernel/hostname").value_or("");
  profile.kernel = files.text("/proc/sys/kernel/osrelease").value_or("");
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
  return profile;
}

} // namespace millrace
