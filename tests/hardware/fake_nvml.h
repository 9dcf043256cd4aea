// A driver's management library of made-up GPUs, as a table of functions for addNvmlFacts(). One at a time: the
// functions have no argument to carry their state in.
#pragma once

#include "hardware/nvml_api.h"

#include <cstring>
#include <string>
#include <vector>

namespace millrace {

struct FakeGpu {
  std::string busId = "00000000:17:00.0";
  std::string name = "NVIDIA H200";
  unsigned deviceId = 0x233510DE;
  NvmlMemory memory = {143771ULL << 20, 143000ULL << 20, 771ULL << 20};
  NvmlReturn memoryCode = nvmlSuccess;
  NvmlReturn handleCode = nvmlSuccess;
  std::vector<NvmlProcess> compute = {};
  std::vector<NvmlProcess> graphics = {};
  NvmlReturn processCode = nvmlSuccess;
  int displayMode = 0;
  int displayActive = 0;
  unsigned mig = 0;
  bool hasLink = true; ///< false: as a virtual GPU
};

class FakeNvml {
 public:
  FakeNvml() { s_current = this; }
  ~FakeNvml() { s_current = nullptr; }
  FakeNvml(const FakeNvml&) = delete;
  FakeNvml& operator=(const FakeNvml&) = delete;

  std::vector<FakeGpu> gpus;
  NvmlReturn initCode = nvmlSuccess;
  int sessions = 0; ///< initialised and not yet shut down
  int initialised = 0;

  NvmlApi api() const {
    NvmlApi api;
    api.init = [] {
      if (s_current->initCode != nvmlSuccess) return s_current->initCode;
      ++s_current->sessions;
      ++s_current->initialised;
      return nvmlSuccess + 0;
    };
    api.shutdown = [] {
      --s_current->sessions;
      return nvmlSuccess + 0;
    };
    api.errorString = [](NvmlReturn code) {
      return code == nvmlDriverNotLoaded   ? "Driver Not Loaded"
             : code == nvmlVersionMismatch ? "Driver/library version mismatch"
             : code == nvmlNoPermission    ? "Insufficient Permissions"
             : code == nvmlGpuIsLost       ? "GPU is lost"
                                           : "Unknown Error";
    };
    api.deviceCount = [](unsigned* count) {
      *count = static_cast<unsigned>(s_current->gpus.size());
      return nvmlSuccess + 0;
    };
    api.deviceByIndex = [](unsigned index, NvmlDevice* device) {
      FakeGpu& gpu = s_current->gpus.at(index);
      *device = reinterpret_cast<NvmlDevice>(&gpu);
      return gpu.handleCode;
    };
    api.pciInfo = [](NvmlDevice device, NvmlPciInfo* info) {
      std::strncpy(info->busId, of(device).busId.c_str(), sizeof info->busId - 1);
      info->pciDeviceId = of(device).deviceId;
      return nvmlSuccess + 0;
    };
    api.memoryInfo = [](NvmlDevice device, NvmlMemory* memory) {
      *memory = of(device).memory;
      return of(device).memoryCode;
    };
    api.driverVersion = [](char* text, unsigned size) {
      std::strncpy(text, "570.86.15", size);
      return nvmlSuccess + 0;
    };
    api.processName = [](unsigned pid, char* text, unsigned size) {
      if (pid >= 9000) return nvmlNoPermission + 0;
      std::strncpy(text, pid == 4242 ? "/usr/bin/python3 train.py --all" : "/usr/lib/xorg/Xorg", size);
      return nvmlSuccess + 0;
    };
    api.name = [](NvmlDevice device, char* text, unsigned size) {
      std::strncpy(text, of(device).name.c_str(), size);
      return nvmlSuccess + 0;
    };
    api.uuid = [](NvmlDevice, char* text, unsigned size) {
      std::strncpy(text, "GPU-12345678-abcd", size);
      return nvmlSuccess + 0;
    };
    api.computeProcesses = [](NvmlDevice device, unsigned* count, NvmlProcess* list) {
      return processes(of(device), of(device).compute, count, list);
    };
    api.graphicsProcesses = [](NvmlDevice device, unsigned* count, NvmlProcess* list) {
      return processes(of(device), of(device).graphics, count, list);
    };
    api.computeCapability = [](NvmlDevice, int* major, int* minor) {
      *major = 9;
      *minor = 0;
      return nvmlSuccess + 0;
    };
    api.linkGeneration = [](NvmlDevice device, unsigned* value) { return link(device, 1, value); };
    api.linkWidth = [](NvmlDevice device, unsigned* value) { return link(device, 16, value); };
    api.maximalLinkGeneration = [](NvmlDevice device, unsigned* value) { return link(device, 5, value); };
    api.maximalLinkWidth = [](NvmlDevice device, unsigned* value) { return link(device, 16, value); };
    api.displayMode = [](NvmlDevice device, int* on) {
      *on = of(device).displayMode;
      return nvmlSuccess + 0;
    };
    api.displayActive = [](NvmlDevice device, int* on) {
      *on = of(device).displayActive;
      return nvmlSuccess + 0;
    };
    api.powerLimit = [](NvmlDevice, unsigned* milliwatts) {
      *milliwatts = 700'000;
      return nvmlSuccess + 0;
    };
    api.migMode = [](NvmlDevice device, unsigned* current, unsigned* pending) {
      *current = *pending = of(device).mig;
      return nvmlSuccess + 0;
    };
    return api;
  }

 private:
  static FakeGpu& of(NvmlDevice device) { return *reinterpret_cast<FakeGpu*>(device); }
  static NvmlReturn link(NvmlDevice device, unsigned told, unsigned* value) {
    *value = told;
    return of(device).hasLink ? nvmlSuccess : nvmlNotSupported;
  }
  static NvmlReturn processes(const FakeGpu& gpu, const std::vector<NvmlProcess>& from, unsigned* count,
                              NvmlProcess* list) {
    if (gpu.processCode != nvmlSuccess) return gpu.processCode;
    const unsigned room = *count;
    *count = static_cast<unsigned>(from.size());
    if (from.size() > room) return nvmlInsufficientSize;
    std::copy(from.begin(), from.end(), list);
    return nvmlSuccess;
  }

  static inline FakeNvml* s_current = nullptr;
};

} // namespace millrace
