#include "engine/probe.h"

#include "api/inference_engine.h"
#include "hardware/detect.h"
#include "probe/machine_probe.h"
#include "probe/rates_json.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

Result<ProbeReport> probeMachine(FileSystem& files, const ProbeOptions& options) {
  if (!(options.seconds > 0) || options.memory < 1 || options.diskBytes < 1)
    return badInput("seconds, memory and disk bytes of measuring: expected more than 0 of each");
  std::vector<Path> folders;
  if (!options.disk.empty()) folders.push_back(options.disk);
  const HardwareProfile profile = detectHardware(folders);
  MILLRACE_TRY(const ComputeLimits limits, computeLimits(options.compute));
  // The CPU's device memory is a part of the same RAM: what is stated holds for both together.
  const Bytes bytes = std::min({options.memory, limits.host / 4, limits.device / 4});
  if (bytes < leastProbeMemory)
    return failure(ErrorKind::DoesNotFit,
                   fmt::format("measuring takes at least {}, and a quarter of what may be taken is {}",
                               formatBytes(leastProbeMemory), formatBytes(bytes)));
  try {
    ThreadPool pool(limits.threads);
    MILLRACE_TRY(const auto device, openDevice(limits, pool, bytes, bytes));
    ProbeReport report;
    report.machine = machineKey(
        profile, limits.threads,
        limits.gpu() ? limits.profile.nvidia.gpus[static_cast<std::size_t>(limits.choice.gpu)].name : device->name());
    report.measuredAt = formatWallTime(std::chrono::system_clock::now());
    MILLRACE_CHECK(runProbes(files, {pool, *device, bytes}, options, report));
    for (ProbedDisk& disk : report.disks)
      for (const DiskFacts& facts : profile.disks)
        if (facts.folder == disk.folder) {
          disk.mountPoint = facts.mountPoint;
          disk.device = facts.device;
        }
    return report;
  } catch (const EngineException& problem) {
    return tl::unexpected<Error>(problem.error());
  }
}

} // namespace millrace
