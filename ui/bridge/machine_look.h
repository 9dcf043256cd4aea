// What a window shows of this machine, gathered off its thread: facts, figures and where they are from, topology.
#pragma once

#include "engine/hardware.h"
#include "engine/probe.h"
#include "engine/topology.h"

#include <functional>
#include <string>
#include <vector>

namespace millrace::ui {

/// What can be named as what computes.
struct ComputeDevice {
  std::string setting; ///< "cpu", "cuda:0"
  std::string name;    ///< of the processor or card
  bool operator==(const ComputeDevice&) const = default;
};

struct MachineLook {
  HardwareProfile profile; ///< with measured rates, and assumed ones where nothing was measured
  TopologyNode topology;
  std::vector<ComputeDevice> devices;    ///< the CPU, then the GPUs that are usable
  std::vector<std::string> notices;      ///< GPUs that are not used, what could not be found out
  std::vector<std::string> ratesNotices; ///< what is not measured, or long ago; one for each of devices, empty: nothing
  std::vector<MachineKey> others;        ///< whose rates are kept here though they do not hold for this machine
  bool operator==(const MachineLook&) const = default;
};

/// Looks at this machine and at the rates that are kept of it. directories: where a run's state may live; their disks
/// matter, and that where runs go. Any thread but the GUI's.
MachineLook lookAtMachine(const std::vector<std::filesystem::path>& directories);

using MachineFunction = std::function<MachineLook(const std::vector<std::filesystem::path>& directories)>;

/// The devices that this program computes on.
std::vector<ComputeDevice> computeDevices(const HardwareProfile& profile);

} // namespace millrace::ui
