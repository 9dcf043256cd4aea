#include "engine/hardware.h"

#include "hardware/detect.h"
#include "hardware/nvidia.h"
#include "hardware/profile_text.h"

#include <fmt/format.h>

namespace millrace {

HardwareProfile inspectMachine(const std::vector<std::filesystem::path>& folders) {
  return detectHardware(folders);
}

std::vector<std::string> gpuNotices(const HardwareProfile& profile) {
  if (!profile.name.empty()) return {}; // of another machine, or of another day
  return gpuNotices(profile, false);
}

Status checkDevice(const std::string& device, const std::string& what) {
  if (device == "auto" || device == "cpu") return {};
  const bool number = device.starts_with("cuda:") && device.size() > 5 && device.size() < 10 &&
                      device.find_first_not_of("0123456789", 5) == std::string::npos;
  if (!number) return badInput(fmt::format("{} is '{}', expected auto, cpu or cuda:N", what, device));
  return badInput(fmt::format("{} is {}, but this program was built without CUDA: use auto or cpu", what, device));
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
