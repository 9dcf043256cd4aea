#include "engine/tier_budgets.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr Bytes displayReserve = 1 * GiB;
constexpr Bytes desktopReserve = 8 * GiB;
constexpr Bytes diskReserve = 10 * GiB;

TierBudget asSet(Bytes free, Bytes set, std::string_view what) {
  TierBudget budget;
  budget.bytes = std::max<Bytes>(set, 0);
  budget.free = free;
  budget.overridden = true;
  budget.explanation = fmt::format("{} as set; {} are free", formatBytes(budget.bytes), formatBytes(free));
  if (budget.bytes > free) budget.explanation += fmt::format(": more than the {} has now", what);
  return budget;
}

TierBudget derived(Bytes free, Bytes reserve) {
  TierBudget budget;
  budget.free = std::max<Bytes>(free, 0);
  budget.reserve = std::min(std::max<Bytes>(reserve, 0), budget.free);
  budget.bytes = budget.free - budget.reserve;
  return budget;
}

std::string name(const GpuProcess& process) {
  return process.name.empty() ? fmt::format("process {}", process.pid)
                              : fmt::format("{} (process {})", process.name, process.pid);
}

TierBudget vramBudget(const GpuFacts& gpu, const TierOverrides& overrides) {
  if (overrides.vram) return asSet(gpu.memoryFree, *overrides.vram, "GPU");
  TierBudget budget = derived(gpu.memoryFree, gpu.displayAttached ? displayReserve : 0);
  if (gpu.memoryTotal == 0) {
    budget.explanation = "nothing: the driver does not tell of the card's memory";
    return budget;
  }
  budget.explanation = fmt::format("{} free of {}", formatBytes(gpu.memoryFree), formatBytes(gpu.memoryTotal));
  const auto largest = std::max_element(gpu.processes.begin(), gpu.processes.end(),
                                        [](const GpuProcess& a, const GpuProcess& b) { return a.memory < b.memory; });
  if (largest != gpu.processes.end()) {
    budget.explanation += fmt::format(", in use by {}", name(*largest));
    if (gpu.processes.size() > 1) budget.explanation += fmt::format(" and {} more", gpu.processes.size() - 1);
  }
  if (gpu.displayAttached) budget.explanation += fmt::format(", less {} for the display", formatBytes(budget.reserve));
  return budget;
}

/// A machine that is only described is planned for as if nothing else ran on it: what was free when somebody looked
/// says nothing of the day when a run begins there.
MemoryFacts asIfEmpty(MemoryFacts memory) {
  memory.available = memory.total;
  memory.groupFree = memory.groupLimit;
  memory.usable = std::min(memory.total, memory.groupLimit.value_or(memory.total));
  return memory;
}

TierBudget ramBudget(const MemoryFacts& memory, const TierOverrides& overrides) {
  if (overrides.ram) return asSet(memory.usable, *overrides.ram, "machine");
  // A tenth of a large machine would leave nothing of a small share of it.
  const Bytes granted = std::min(memory.total, memory.groupLimit.value_or(memory.total));
  const Bytes wanted = std::max(desktopReserve, granted / 10);
  const Bytes most = std::max<Bytes>(memory.usable, 0) / 2;
  TierBudget budget = derived(memory.usable, std::min(wanted, most));
  budget.explanation = fmt::format("{} usable", formatBytes(budget.free));
  if (memory.groupFree && *memory.groupFree < memory.available)
    budget.explanation += fmt::format(" under the limit of {}", memory.groupLimitSource);
  budget.explanation += fmt::format(", less {} for everything else on the machine", formatBytes(budget.reserve));
  if (wanted > most) budget.explanation += fmt::format(" (half of it, since {} would leave less)", formatBytes(wanted));
  return budget;
}

TierBudget diskBudget(const DiskFacts& disk, const TierOverrides& overrides) {
  TierBudget budget;
  if (overrides.disk) {
    budget = asSet(disk.free, *overrides.disk, "disk");
  } else {
    const Bytes wanted = std::max(diskReserve, disk.total / 20);
    budget = derived(disk.free, wanted);
    budget.explanation = budget.bytes > 0
                             ? fmt::format("{} free, less {} so that the disk does not fill up",
                                           formatBytes(budget.free), formatBytes(budget.reserve))
                             : fmt::format("nothing: of the {} that are free, {} are kept so that the disk does not "
                                           "fill up",
                                           formatBytes(budget.free), formatBytes(wanted));
  }
  if (disk.kind == DiskKind::Memory) budget.explanation += "; the folder lies in RAM and takes from it";
  if (disk.network) budget.explanation += "; the folder is reached over a network or from a host, likely slow";
  if (disk.kind == DiskKind::Hdd) budget.explanation += "; a rotating disk, slow";
  return budget;
}

/// One file system may be mounted in several places, as parts of it or whole.
bool shareSpace(const DiskFacts& a, const DiskFacts& b) {
  if (!a.mountPoint.empty() && a.mountPoint == b.mountPoint) return true;
  return !a.device.empty() && a.device == b.device && a.fileSystem == b.fileSystem && a.total == b.total;
}

TierBudget lockableBudget(const MemoryFacts& memory, const TierBudget& ram, bool wsl) {
  TierBudget budget = ram;
  budget.bytes = std::min(ram.bytes, std::max<Bytes>(memory.lockLimit.value_or(ram.bytes), 0));
  if (budget.bytes == ram.bytes)
    budget.explanation = "as much as RAM: the limit of locked memory does not bind";
  else
    budget.explanation = fmt::format("{} by the limit of locked memory (ulimit -l); the CUDA driver pins without "
                                     "regard to it",
                                     formatBytes(budget.bytes));
  if (wsl) budget.explanation += "; Windows caps what CUDA can pin, often at half of the memory or less";
  return budget;
}

} // namespace

TierBudgets tierBudgets(const HardwareProfile& profile, const TierOverrides& overrides) {
  TierBudgets budgets;
  for (const GpuFacts& gpu : profile.nvidia.gpus) budgets.vram.push_back(vramBudget(gpu, overrides));
  const MemoryFacts memory = profile.name.empty() ? profile.memory : asIfEmpty(profile.memory);
  budgets.ram = ramBudget(memory, overrides);
  for (std::size_t i = 0; i < profile.disks.size(); ++i) {
    const DiskFacts& disk = profile.disks[i];
    budgets.disks.push_back(diskBudget(disk, overrides));
    std::size_t first = 0;
    while (first < i && !shareSpace(profile.disks[first], disk)) ++first;
    budgets.sameDisk.push_back(static_cast<int>(first));
    if (first != i) budgets.disks.back().explanation += fmt::format("; shared with {}", profile.disks[first].folder);
  }
  budgets.lockable = lockableBudget(memory, budgets.ram, profile.wsl);
  return budgets;
}

} // namespace millrace
