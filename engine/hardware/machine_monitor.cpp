#include "engine/machine_monitor.h"

#include "hardware/cpu_load.h"
#include "hardware/gpu_monitor.h"
#include "hardware/memory.h"

#include <algorithm>

namespace millrace {

struct MachineMonitor::Implementation {
  struct Gpu {
    explicit Gpu(const std::string& address) : pciAddress(address), monitor(address) {}
    const std::string pciAddress;
    GpuMonitor monitor;
  };
  SystemFiles files;
  CpuLoad cpu;
  std::vector<std::unique_ptr<Gpu>> gpus;
};

MachineMonitor::MachineMonitor(const std::vector<std::string>& gpus)
    : m_implementation(std::make_unique<Implementation>()) {
  for (const std::string& address : gpus)
    m_implementation->gpus.push_back(std::make_unique<Implementation::Gpu>(address));
}

MachineMonitor::~MachineMonitor() = default;

MachineLoad MachineMonitor::take() {
  MachineLoad load;
  load.cpu = m_implementation->cpu.take();
  std::vector<std::string> unknown;
  const MemoryFacts memory = readMemoryFacts(m_implementation->files, unknown);
  load.memoryTotal = std::min(memory.total, memory.groupLimit.value_or(memory.total));
  if (memory.total > 0) load.memoryUsed = std::max<Bytes>(0, load.memoryTotal - memory.usable);
  for (const auto& gpu : m_implementation->gpus) load.gpus.push_back({gpu->pciAddress, gpu->monitor.take()});
  return load;
}

} // namespace millrace
