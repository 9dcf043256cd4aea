// MachineMonitor: what the machine does now, for meters. Owned by whoever shows it; the GPUs are looked at by threads
// of its own while it is there.
#pragma once

#include "engine/hardware.h"
#include "engine/step_metrics.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

struct GpuLoad {
  std::string pciAddress;
  std::optional<GpuMetrics> metrics; ///< nothing: the driver tells nothing, or nothing any more
  bool operator==(const GpuLoad&) const = default;
};

/// What is not told is absent.
struct MachineLoad {
  std::optional<double> cpu;       ///< share of the time in which the machine's hardware threads worked
  std::optional<Bytes> memoryUsed; ///< of memoryTotal: what no program of ours could take
  Bytes memoryTotal = 0;           ///< the machine's, or the smallest limit of this process's cgroups
  std::vector<GpuLoad> gpus;       ///< in the order that was asked for
  bool operator==(const MachineLoad&) const = default;
};

class MachineMonitor {
 public:
  /// gpus: PCI addresses ("0000:17:00.0"). Loads the driver's library: not on a window's thread.
  explicit MachineMonitor(const std::vector<std::string>& gpus);
  ~MachineMonitor();
  MachineMonitor(const MachineMonitor&) = delete;
  MachineMonitor& operator=(const MachineMonitor&) = delete;

  /// Since the last call: means, see GpuMonitor. Reads small files of the kernel; one thread at a time.
  MachineLoad take();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> m_implementation;
};

} // namespace millrace
