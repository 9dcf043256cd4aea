// What a project or a command computes on: "auto", "cpu" or "cuda:N" against what the machine has and what this program
// was built for. The choice is pure; opening it is not.
#pragma once

#include "device/device.h"
#include "engine/hardware.h"
#include "run/run_plan.h"

#include <memory>
#include <optional>
#include <string>

namespace millrace {

/// Of a CUDA context, until one is measured: the driver, cuBLAS and our kernels.
constexpr Bytes assumedContext = 600 * MiB;
/// Of a measured context: what the driver takes later, when kernels are loaded at their first launch (up to 8 MiB in
/// the runs of tests/bench/plan_table.py on an H200).
constexpr Bytes contextReserve = 32 * MiB;

struct DeviceChoice {
  int gpu = -1; ///< index into profile.nvidia.gpus; -1: the CPU
  /// What the driver takes of the GPU's memory beside our buffers.
  Bytes driverBytes = 0;
  std::string reason; ///< one sentence for people: what computes, and why it
};

/// setting: "auto" takes the usable GPU with the most free memory, or the CPU where there is none. what: names the
/// setting in errors. cudaRelease: cudaRelease() of device/gpus.h. BadInput where the named GPU cannot be used, and
/// why.
Result<DeviceChoice> chooseDevice(const std::string& setting, const std::string& what, const HardwareProfile& profile,
                                  int cudaRelease);

/// Whether chooseDevice() would take the setting on this machine, which is looked at for a GPU alone.
Status checkDeviceSetting(const std::string& setting, const std::string& what);

/// chooseDevice() for this machine and program, and the GPU's context made: what it takes is measured, and the profile
/// knows what is free. With "auto" a GPU that fails here gives way to the CPU. Errors: as above; the GPU's own.
Result<DeviceChoice> readyDevice(const std::string& setting, const std::string& what, HardwareProfile& profile);

/// The limits with what the driver takes left to it. A limit that was set is for our buffers alone, and holds as far as
/// there is so much.
MemoryLimits withoutDriver(MemoryLimits limits, Bytes driverBytes);

/// Errors: createCudaDevice()'s.
Result<std::unique_ptr<Device>> openChosen(const DeviceChoice& choice, const HardwareProfile& profile, ThreadPool& pool,
                                           Bytes deviceLimit, Bytes hostLimit);

} // namespace millrace
