#include "hardware/nvml_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace millrace {

void NvmlLibrary::Closer::operator()(void* library) const noexcept {
  ::dlclose(library);
}

Result<NvmlLibrary> NvmlLibrary::open(const char* file) {
  NvmlLibrary nvml;
  nvml.m_library.reset(::dlopen(file, RTLD_NOW | RTLD_LOCAL));
  if (!nvml.m_library) {
    const char* why = ::dlerror();
    return failed(fmt::format("the driver's library cannot be loaded: {}", why ? why : file));
  }
  const auto take = [&](auto& function, std::initializer_list<const char*> names) {
    for (const char* name : names) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(nvml.m_library.get(), name));
      if (function) return true;
    }
    return false;
  };
  const char* missing = nullptr;
  const auto need = [&](auto& function, const char* name) {
    if (!take(function, {name}) && !missing) missing = name;
  };
  NvmlApi& api = nvml.m_api;
  need(api.init, "nvmlInit_v2");
  need(api.shutdown, "nvmlShutdown");
  need(api.errorString, "nvmlErrorString");
  need(api.deviceCount, "nvmlDeviceGetCount_v2");
  need(api.deviceByIndex, "nvmlDeviceGetHandleByIndex_v2");
  need(api.pciInfo, "nvmlDeviceGetPciInfo_v3");
  need(api.memoryInfo, "nvmlDeviceGetMemoryInfo");
  if (missing)
    return failed(fmt::format("{} has no function {}: the driver is too old, install a newer one", file, missing));

  take(api.driverVersion, {"nvmlSystemGetDriverVersion"});
  take(api.processName, {"nvmlSystemGetProcessName"});
  take(api.name, {"nvmlDeviceGetName"});
  take(api.uuid, {"nvmlDeviceGetUUID"});
  // The names without a suffix fill a shorter struct and must not be used in their place.
  take(api.computeProcesses, {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2"});
  take(api.graphicsProcesses, {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2"});
  take(api.computeCapability, {"nvmlDeviceGetCudaComputeCapability"});
  take(api.linkGeneration, {"nvmlDeviceGetCurrPcieLinkGeneration"});
  take(api.linkWidth, {"nvmlDeviceGetCurrPcieLinkWidth"});
  take(api.maximalLinkGeneration, {"nvmlDeviceGetMaxPcieLinkGeneration"});
  take(api.maximalLinkWidth, {"nvmlDeviceGetMaxPcieLinkWidth"});
  take(api.displayMode, {"nvmlDeviceGetDisplayMode"});
  take(api.displayActive, {"nvmlDeviceGetDisplayActive"});
  take(api.powerLimit, {"nvmlDeviceGetEnforcedPowerLimit"});
  take(api.migMode, {"nvmlDeviceGetMigMode"});
  take(api.utilization, {"nvmlDeviceGetUtilizationRates"});
  take(api.power, {"nvmlDeviceGetPowerUsage"});
  take(api.temperature, {"nvmlDeviceGetTemperature"});
  take(api.fieldValues, {"nvmlDeviceGetFieldValues"});
  return nvml;
}

} // namespace millrace
