#include "hardware/profile_text.h"

#include "hardware/rate_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {

/// Two columns, the second wrapped by nobody: one fact a line.
class Table {
 public:
  void row(std::string_view name, std::string_view value) { m_text += fmt::format("{:<21} {}\n", name, value); }
  std::string take() { return std::move(m_text); }

 private:
  std::string m_text;
};

std::string counted(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

void addCpu(Table& table, const CpuFacts& cpu) {
  table.row("processor", cpu.name.empty() ? cpu.architecture : fmt::format("{}, {}", cpu.name, cpu.architecture));
  table.row("cores",
            fmt::format("{}, {}, {}", counted(cpu.packages, "package", "packages"), counted(cpu.cores, "core", "cores"),
                        counted(cpu.threads, "hardware thread", "hardware threads")));
  std::string usable = counted(cpu.usableCores, "core", "cores");
  if (cpu.allowedThreads != cpu.threads)
    usable += fmt::format(", affinity allows {}", counted(cpu.allowedThreads, "hardware thread", "hardware threads"));
  if (cpu.quota) usable += fmt::format(", quota {:.2f} by {}", *cpu.quota, cpu.quotaSource);
  table.row("usable", usable);
  for (const CacheFacts& cache : cpu.caches)
    table.row(fmt::format("L{} cache", cache.level), fmt::format("{} x {}", cache.count, formatBytes(cache.size)));
  for (const NumaNode& node : cpu.numaNodes)
    table.row(fmt::format("NUMA node {}", node.index),
              fmt::format("{}, {}", formatBytes(node.memory), counted(node.cores, "core", "cores")));
  // A file need not tell them.
  if (cpu.instructionSets != InstructionSets() || !cpu.name.empty())
    table.row("instruction sets", describeInstructionSets(cpu.instructionSets));
}

void addMemory(Table& table, const MemoryFacts& memory) {
  table.row("memory", fmt::format("{}, available {}", formatBytes(memory.total), formatBytes(memory.available)));
  if (memory.groupLimit)
    table.row("memory limit", fmt::format("{} by {}, {} of it free", formatBytes(*memory.groupLimit),
                                          memory.groupLimitSource, formatBytes(memory.groupFree.value_or(0))));
  table.row("memory usable", formatBytes(memory.usable));
  table.row("lockable memory", memory.lockLimit ? formatBytes(*memory.lockLimit) : "no limit");
  if (memory.hugePageSize == 0) return;
  table.row("huge pages", fmt::format("{} of {} reserved and free, transparent: {}", memory.hugePagesFree,
                                      formatBytes(memory.hugePageSize),
                                      memory.transparentHugePages.empty() ? "unknown" : memory.transparentHugePages));
}

/// "3.20 GB/s (measured 2025-01-01T00:00:00Z by probe)".
std::string describe(const Rate& rate, RateUnit unit) {
  std::string from(toString(rate.origin));
  if (!rate.measuredAt.empty()) from += " " + rate.measuredAt;
  if (!rate.source.empty()) from += fmt::format(", {}", rate.source);
  return fmt::format("{} ({})", formatRate(rate.perSecond, unit), from);
}

/// For one of the visit...Rates().
auto rateRows(Table& table) {
  return [&table](const Rate& rate, const char*, const char* words, RateUnit unit) {
    if (rate.known()) table.row(fmt::format("  {}", words), describe(rate, unit));
  };
}

void addDisk(Table& table, const DiskFacts& disk) {
  std::string device = disk.device.empty() ? "no single disk" : disk.device;
  if (!disk.model.empty()) device += fmt::format(" ({})", disk.model);
  if (disk.kind != DiskKind::Unknown) device += fmt::format(", {}", toString(disk.kind));
  if (disk.network) device += ", over a network or from a host";
  std::string where = disk.fileSystem.empty() ? "unknown file system" : disk.fileSystem;
  where += disk.mountPoint.empty() ? "" : " on " + disk.mountPoint;
  table.row("disk of " + disk.folder,
            fmt::format("{} free of {}, {}, {}", formatBytes(disk.free), formatBytes(disk.total), where, device));
  if (disk.ratedEndurance > 0)
    table.row("  rated endurance", fmt::format("{} written", formatBytes(disk.ratedEndurance)));
  visitDiskRates(disk.rates, rateRows(table));
}

std::string describe(const PciLink& link) {
  return link.generation == 0 && link.width == 0 ? "unknown" : fmt::format("PCIe {} x{}", link.generation, link.width);
}

std::string gpuTitle(const GpuFacts& gpu) {
  return gpu.index < 0 ? "NVIDIA card" : fmt::format("GPU {}", gpu.index);
}

void addGpu(Table& table, const GpuFacts& gpu, const std::string& driver) {
  std::string what = gpu.name.empty() ? "10de:" + gpu.deviceId : gpu.name;
  if (!gpu.pciAddress.empty()) what += " at PCI " + gpu.pciAddress;
  if (gpu.capability) what += fmt::format(", compute capability {}.{}", gpu.capability->major, gpu.capability->minor);
  if (!gpu.pciAddress.empty()) what += fmt::format(", driver {}", driver.empty() ? "none" : driver);
  table.row(gpuTitle(gpu), what);
  if (!gpu.uuid.empty()) table.row("  identity", gpu.uuid);
  table.row("  memory", gpu.memoryTotal == 0
                            ? "unknown"
                            : fmt::format("{}, {} free", formatBytes(gpu.memoryTotal), formatBytes(gpu.memoryFree)));
  for (const GpuProcess& process : gpu.processes)
    table.row("  in use by", fmt::format("{} (process {}): {}", process.name.empty() ? "?" : process.name, process.pid,
                                         process.memory ? formatBytes(*process.memory) : "not told"));
  if (gpu.link != gpu.maximalLink)
    table.row("  link",
              fmt::format("{}, now {} (an idle link reads low)", describe(gpu.maximalLink), describe(gpu.link)));
  else
    table.row("  link", describe(gpu.maximalLink));
  if (gpu.numaNode) table.row("  NUMA node", fmt::format("{}", *gpu.numaNode));
  if (gpu.displayAttached) table.row("  display", "attached");
  if (gpu.powerLimit > 0) table.row("  power limit", fmt::format("{:.0f} W", gpu.powerLimit));
  visitDeviceRates(gpu.rates, rateRows(table));
}

/// A title over rates, if any of them is known.
template <class Rates, class Visit>
void addRates(Table& table, std::string_view title, std::string_view text, const Rates& rates, Visit visit) {
  if (rates == Rates()) return;
  table.row(title, text);
  visit(rates, rateRows(table));
}

} // namespace

std::string describeInstructionSets(const InstructionSets& sets) {
  std::vector<std::string_view> names;
  if (sets.sse42) names.push_back("SSE4.2");
  if (sets.avx2) names.push_back("AVX2");
  if (sets.avx512) names.push_back("AVX-512");
  if (sets.avx512Vnni) names.push_back("AVX-512 VNNI");
  if (sets.avx512Bf16) names.push_back("AVX-512 BF16");
  if (sets.amxBf16) names.push_back("AMX BF16");
  return names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "));
}

std::string hardwareTable(const HardwareProfile& profile) {
  Table table;
  if (!profile.name.empty()) table.row("machine", profile.name);
  if (!profile.source.empty()) table.row("figures from", profile.source);
  if (!profile.host.empty() || !profile.kernel.empty())
    table.row("host",
              fmt::format("{}, Linux {}{}", profile.host, profile.kernel, profile.wsl ? ", under Windows (WSL)" : ""));
  if (profile.hostPower > 0) table.row("power besides GPUs", fmt::format("{:.0f} W", profile.hostPower));
  if (profile.cpu.cores > 0 || !profile.cpu.name.empty()) addCpu(table, profile.cpu);
  if (profile.memory.total > 0) addMemory(table, profile.memory);
  addRates(table, "host rates", "", profile.hostRates,
           [](const HostRates& rates, auto rows) { visitHostRates(rates, rows); });
  addRates(table, "CPU rates", "as the device that computes", profile.cpuRates,
           [](const DeviceRates& rates, auto rows) { visitDeviceRates(rates, rows); });
  for (const DiskFacts& disk : profile.disks) addDisk(table, disk);
  for (const GpuFacts& gpu : profile.nvidia.gpus) addGpu(table, gpu, profile.nvidia.driverVersion);
  for (const std::string& what : profile.unknown) table.row("unknown", what);
  return table.take();
}

std::string budgetTable(const HardwareProfile& profile, const TierBudgets& budgets) {
  Table table;
  const auto row = [&](std::string_view name, const TierBudget& budget) {
    table.row(name, fmt::format("{}: {}", formatBytes(budget.bytes), budget.explanation));
  };
  for (std::size_t i = 0; i < budgets.vram.size(); ++i)
    row("VRAM for runs, " + gpuTitle(profile.nvidia.gpus[i]), budgets.vram[i]);
  if (profile.memory.total > 0) {
    row("RAM for runs", budgets.ram);
    row("of that lockable", budgets.lockable);
  }
  for (std::size_t i = 0; i < budgets.disks.size(); ++i)
    row("for runs in " + profile.disks[i].folder, budgets.disks[i]);
  return table.take();
}

Json toJson(const TierBudgets& budgets) {
  const auto one = [](const TierBudget& budget) {
    return Json{{"bytes", budget.bytes},
                {"free", budget.free},
                {"reserve", budget.reserve},
                {"overridden", budget.overridden},
                {"explanation", budget.explanation}};
  };
  Json vram = Json::array(), disks = Json::array();
  for (const TierBudget& budget : budgets.vram) vram.push_back(one(budget));
  for (std::size_t i = 0; i < budgets.disks.size(); ++i) {
    disks.push_back(one(budgets.disks[i]));
    disks.back()["same_disk"] = budgets.sameDisk[i];
  }
  return {{"vram", std::move(vram)},
          {"ram", one(budgets.ram)},
          {"lockable", one(budgets.lockable)},
          {"disks", std::move(disks)}};
}

} // namespace millrace
