#include "run/plan_rates.h"

#include "engine/machines.h"
#include "engine/probe.h"

namespace millrace {

HardwareProfile withRates(FileSystem& files, HardwareProfile profile, const Project& project, int gpu,
                          std::string* notice) {
  const auto threads = static_cast<int>(project.training.threads);
  return withAssumedRates(withCachedRates(files, std::move(profile), threads, gpu, notice));
}

} // namespace millrace
