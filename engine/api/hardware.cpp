#include "engine/hardware.h"

#include "hardware/detect.h"
#include "hardware/nvidia.h"
#include "hardware/profile_text.h"

namespace millrace {

namespace {
#ifdef MILLRACE_CUDA
constexpr bool builtWithCuda = true;
#else
constexpr bool builtWithCuda = false;
#endif
} // namespace

HardwareProfile inspectMachine(const std::vector<std::filesystem::path>& folders) {
  return detectHardware(folders);
}

std::vector<std::string> gpuNotices(const HardwareProfile& profile) {
  return gpuNotices(profile, builtWithCuda);
}

std::string hardwareReport(const HardwareProfile& profile) {
  std::string report = hardwareTable(profile);
  for (const std::string& notice : gpuNotices(profile)) report += notice + "\n";
  return report;
}

std::string hardwareJson(const HardwareProfile& profile) {
  Json json = toJson(profile);
  json["notices"] = gpuNotices(profile);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace millrace
