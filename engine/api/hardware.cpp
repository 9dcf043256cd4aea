#include "engine/hardware.h"

#include "device/gpus.h"
#include "hardware/detect.h"
#include "hardware/nvidia.h"
#include "hardware/profile_text.h"
#include "run/device_choice.h"

namespace millrace {

HardwareProfile inspectMachine(const std::vector<std::filesystem::path>& folders) {
  return detectHardware(folders);
}

std::vector<std::string> gpuNotices(const HardwareProfile& profile) {
  if (!profile.name.empty()) return {}; // of another machine, or of another day
  const int release = cudaRelease();
  return release == 0 ? gpuNotices(profile, false) : gpuNotices(profile, true, release);
}

Status checkDevice(const std::string& device, const std::string& what) {
  return checkDeviceSetting(device, what);
}

std::string hardwareReport(const HardwareProfile& profile) {
  std::string report = hardwareTable(profile) + budgetTable(profile, tierBudgets(profile));
  for (const std::string& notice : gpuNotices(profile)) report += notice + "\n";
  return report;
}

std::string hardwareJson(const HardwareProfile& profile) {
  Json json = toJson(profile);
  json["budgets"] = toJson(tierBudgets(profile));
  json["notices"] = gpuNotices(profile);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace millrace
