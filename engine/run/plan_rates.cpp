#include "run/plan_rates.h"

#include "engine/machines.h"

namespace millrace {

HardwareProfile withMeasuredRates(HardwareProfile profile, const ProbeReport& report, Precision precision) {
  const auto take = [](Rate& rate, const Rate& measured) {
    if (measured.known()) rate = measured;
  };
  DeviceRates& device = profile.cpuRates;
  take(device.copyIn, report.device.copyIn);
  take(device.copyOut, report.device.copyOut);
  take(device.copyBoth, report.device.copyBoth);
  take(device.gemmFp32, report.device.gemmFp32);
  take(device.gemmTf32, report.device.gemmTf32);
  take(device.gemmBf16, report.device.gemmBf16);
  take(device.memory, report.device.memory);
  const HostRates& host = report.host(precision);
  take(profile.hostRates.memory, host.memory);
  take(profile.hostRates.adamW, host.adamW);
  take(profile.hostRates.adamWBesideCopies, host.adamWBesideCopies);
  for (DiskFacts& disk : profile.disks)
    if (const DiskRates* rates = report.disk(disk)) {
      take(disk.rates.read, rates->read);
      take(disk.rates.write, rates->write);
    }
  return profile;
}

HardwareProfile withRates(FileSystem& files, HardwareProfile profile, const Project& project) {
  const TrainingConfig& training = project.training;
  if (profile.name.empty()) { // a file's machine is another one
    const CachedRates cached =
        cachedRates(files, ratesCacheFile(), machineKey(profile, static_cast<int>(training.threads)));
    if (cached.report) profile = withMeasuredRates(std::move(profile), *cached.report, training.precision);
  }
  return withAssumedRates(std::move(profile));
}

} // namespace millrace
