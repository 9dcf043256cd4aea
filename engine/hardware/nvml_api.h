// The few functions of NVIDIA's management library (NVML) that are used, as a table: filled from the driver's library,
// or by tests. Declared here because the library's header is not on every machine; names that end in _v2 or _v3 fix the
// layout of what they fill, so that an older or newer driver either has them or is seen not to.
#pragma once

#include "base/result.h"

#include <memory>
#include <string>

namespace millrace {

struct NvmlDeviceHandle;
using NvmlDevice = NvmlDeviceHandle*;
using NvmlReturn = int;

enum : NvmlReturn {
  nvmlSuccess = 0,
  nvmlNotSupported = 3,
  nvmlNoPermission = 4,
  nvmlInsufficientSize = 7,
  nvmlDriverNotLoaded = 9,
  nvmlGpuIsLost = 15,
  nvmlVersionMismatch = 18, ///< library and kernel module of different releases
  nvmlUnknownError = 999,
};

constexpr unsigned long long nvmlValueNotAvailable = ~0ULL;

struct NvmlMemory {
  unsigned long long total, free, used; // bytes
};
static_assert(sizeof(NvmlMemory) == 24);

struct NvmlPciInfo { // as _v3 fills it
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32]; // "00000000:17:00.0"
};
static_assert(sizeof(NvmlPciInfo) == 68);

struct NvmlProcess { // as _v2 and _v3 fill it
  unsigned pid;
  unsigned long long usedGpuMemory; // bytes, or nvmlValueNotAvailable
  unsigned gpuInstanceId, computeInstanceId;
};
static_assert(sizeof(NvmlProcess) == 24);

struct NvmlUtilization {
  unsigned gpu, memory; // percent of the time since the driver last looked
};
static_assert(sizeof(NvmlUtilization) == 8);

struct NvmlFieldValue {
  unsigned fieldId, scopeId;
  long long timestamp, latency; // microseconds
  int type;
  NvmlReturn code;
  unsigned long long value; // of an unsigned type: the lower bytes
};
static_assert(sizeof(NvmlFieldValue) == 40);

/// Bytes over the PCIe link since the driver was loaded, in 32 bits.
enum : unsigned { nvmlFieldLinkSent = 197, nvmlFieldLinkReceived = 198 };

/// Null: the driver's library has no such function. The first group is always there in a table that openNvml() gives.
struct NvmlApi {
  NvmlReturn (*init)() = nullptr;
  NvmlReturn (*shutdown)() = nullptr;
  const char* (*errorString)(NvmlReturn) = nullptr;
  NvmlReturn (*deviceCount)(unsigned*) = nullptr;
  NvmlReturn (*deviceByIndex)(unsigned, NvmlDevice*) = nullptr;
  NvmlReturn (*pciInfo)(NvmlDevice, NvmlPciInfo*) = nullptr;
  NvmlReturn (*memoryInfo)(NvmlDevice, NvmlMemory*) = nullptr;

  NvmlReturn (*driverVersion)(char*, unsigned) = nullptr;
  NvmlReturn (*processName)(unsigned pid, char*, unsigned) = nullptr;
  NvmlReturn (*name)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlReturn (*uuid)(NvmlDevice, char*, unsigned) = nullptr;
  NvmlReturn (*computeProcesses)(NvmlDevice, unsigned* count, NvmlProcess*) = nullptr;
  NvmlReturn (*graphicsProcesses)(NvmlDevice, unsigned* count, NvmlProcess*) = nullptr;
  NvmlReturn (*computeCapability)(NvmlDevice, int* major, int* minor) = nullptr;
  NvmlReturn (*linkGeneration)(NvmlDevice, unsigned*) = nullptr;
  NvmlReturn (*linkWidth)(NvmlDevice, unsigned*) = nullptr;
  NvmlReturn (*maximalLinkGeneration)(NvmlDevice, unsigned*) = nullptr;
  NvmlReturn (*maximalLinkWidth)(NvmlDevice, unsigned*) = nullptr;
  NvmlReturn (*displayMode)(NvmlDevice, int* on) = nullptr;   ///< a screen is connected
  NvmlReturn (*displayActive)(NvmlDevice, int* on) = nullptr; ///< a desktop runs on it, screen or not
  NvmlReturn (*powerLimit)(NvmlDevice, unsigned* milliwatts) = nullptr;
  NvmlReturn (*migMode)(NvmlDevice, unsigned* current, unsigned* pending) = nullptr;
  NvmlReturn (*utilization)(NvmlDevice, NvmlUtilization*) = nullptr;
  NvmlReturn (*power)(NvmlDevice, unsigned* milliwatts) = nullptr;
  NvmlReturn (*temperature)(NvmlDevice, int sensor, unsigned* degrees) = nullptr;
  NvmlReturn (*fieldValues)(NvmlDevice, int count, NvmlFieldValue*) = nullptr;
};

/// The loaded library; unloads it at the end. Not initialised: that is for whoever calls it.
class NvmlLibrary {
 public:
  /// Errors: Failed, when there is no such library or it lacks a function of the first group, naming it.
  static Result<NvmlLibrary> open(const char* file = "libnvidia-ml.so.1");
  const NvmlApi& api() const { return m_api; }

 private:
  struct Closer {
    void operator()(void* library) const noexcept;
  };
  std::unique_ptr<void, Closer> m_library;
  NvmlApi m_api;
};

} // namespace millrace
