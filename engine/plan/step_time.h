// How long a step takes on a machine: each resource's work over its rate, and what can and cannot go on beside what.
// One model for all devices; the CPU's differs in that everything shares its cores. Pure.
#pragma once

#include "engine/hardware.h"
#include "engine/precision.h"
#include "plan/step_work.h"

#include <array>
#include <optional>
#include <string_view>

namespace millrace {

enum class StepResource { Compute, BusIn, BusOut, HostAdamW, DiskRead, DiskWrite };
constexpr std::size_t stepResources = 6;
std::string_view toString(StepResource resource);

/// Figures a second; 0: nothing of the kind can be done.
struct StepRates {
  double products = 0;  ///< floating-point operations
  double attention = 0; ///< floating-point operations
  double deviceMemory = 0;
  double in = 0, out = 0, both = 0;
  double update = 0;             ///< parameters, host AdamW
  double updateBesideCopies = 0; ///< the same while the bus is busy
  double deviceUpdate = 0;       ///< parameters, device AdamW
  double gpus = 1;               ///< whose copies share the host's memory
  double hostMemory = 0;         ///< bytes, all that touch it together; 0: not known, and nothing is limited by it
  double diskRead = 0, diskWrite = 0;
  /// The device is the CPU: copies, AdamW and kernels take turns on its cores.
  bool sharedCores = false;
  int threads = 1;       ///< with sharedCores
  bool measured = false; ///< every figure that counts was measured on the machine
  bool assumed = false;  ///< one that counts is of data sheets and tables
};

/// gpu: index into profile.nvidia.gpus, negative for the CPU. The profile's rates must be filled in (withAssumedRates).
/// gpus: that work side by side on one host.
StepRates stepRates(const HardwareProfile& profile, Precision precision, int gpu, int threads, int gpus = 1);

struct StepTime {
  double seconds = 0; ///< predicted
  double bound = 0;   ///< no engine can be faster at these rates
  double forward = 0, backward = 0;
  std::array<double, stepResources> busy{}; ///< seconds of work of each resource
  /// Of the resources that a phase waits for the one with the most work in the whole step.
  StepResource bottleneck = StepResource::Compute;
  bool computeBinds = true;   ///< no phase waits for anything else
  double updatedOnDevice = 0; ///< parameters with state on the host that are updated on the device, which hides AdamW

  /// What a planner keeps small: the time, and a little of what the disk has to do, which wears it.
  double cost() const { return seconds + 0.01 * ((*this)[StepResource::DiskRead] + (*this)[StepResource::DiskWrite]); }
  double operator[](StepResource resource) const { return busy[static_cast<std::size_t>(resource)]; }
};

/// Of parameters of layers that are updated on the host, with updates in backward: how many had best wait for the next
/// forward (StepWork::heldUpdates), as few as give the least time.
double updatesToHold(const StepWork& work, const StepRates& rates);

/// splitUpdates: where forward would wait for AdamW on the host, some of it may run on the device: the share that takes
/// the least time, or this one of all that can (0 to 1).
StepTime predictStep(const StepWork& work, const StepRates& rates, bool splitUpdates, std::optional<double> share = {});

} // namespace millrace
