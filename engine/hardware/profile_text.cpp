#include "hardware/profile_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace {

namespace {

template <class T>
Json orNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json cpuJson(const CpuFacts& cpu) {
  Json caches = Json::array(), nodes = Json::array();
  for (const CacheFacts& cache : cpu.caches)
    caches.push_back({{"level", cache.level}, {"bytes", cache.size}, {"count", cache.count}});
  for (const NumaNode& node : cpu.numaNodes)
    nodes.push_back({{"index", node.index}, {"bytes", node.memory}, {"cores", node.cores}, {"threads", node.threads}});
  const InstructionSets& sets = cpu.instructionSets;
  return {{"name", cpu.name},
          {"architecture", cpu.architecture},
          {"packages", cpu.packages},
          {"cores", cpu.cores},
          {"threads", cpu.threads},
          {"allowed_cores", cpu.allowedCores},
          {"allowed_threads", cpu.allowedThreads},
          {"quota", orNull(cpu.quota)},
          {"quota_source", cpu.quotaSource},
          {"usable_cores", cpu.usableCores},
          {"caches", std::move(caches)},
          {"numa_nodes", std::move(nodes)},
          {"instruction_sets",
           {{"sse42", sets.sse42},
            {"avx2", sets.avx2},
            {"avx512", sets.avx512},
            {"avx512_bf16", sets.avx512Bf16},
            {"avx512_vnni", sets.avx512Vnni},
            {"amx_bf16", sets.amxBf16}}}};
}

Json memoryJson(const MemoryFacts& memory) {
  return {{"total", memory.total},
          {"available", memory.available},
          {"group_limit", orNull(memory.groupLimit)},
          {"group_limit_source", memory.groupLimitSource},
          {"group_free", orNull(memory.groupFree)},
          {"usable", memory.usable},
          {"lock_limit", orNull(memory.lockLimit)},
          {"huge_page_size", memory.hugePageSize},
          {"huge_pages_free", memory.hugePagesFree},
          {"transparent_huge_pages", memory.transparentHugePages}};
}

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
  table.row("instruction sets", describeInstructionSets(cpu.instructionSets));
}

void addMemory(Table& table, const MemoryFacts& memory) {
  table.row("memory", fmt::format("{}, available {}", formatBytes(memory.total), formatBytes(memory.available)));
  if (memory.groupLimit)
    table.row("memory limit", fmt::format("{} by {}, {} of it free", formatBytes(*memory.groupLimit),
                                          memory.groupLimitSource, formatBytes(memory.groupFree.value_or(0))));
  table.row("memory usable", formatBytes(memory.usable));
  table.row("lockable memory", memory.lockLimit ? formatBytes(*memory.lockLimit) : "no limit");
  table.row("huge pages", fmt::format("{} of {} reserved and free, transparent: {}", memory.hugePagesFree,
                                      formatBytes(memory.hugePageSize),
                                      memory.transparentHugePages.empty() ? "unknown" : memory.transparentHugePages));
}

void addDisk(Table& table, const DiskFacts& disk) {
  std::string device = disk.device.empty() ? "no single disk" : disk.device;
  if (!disk.model.empty()) device += fmt::format(" ({})", disk.model);
  if (disk.rotational) device += *disk.rotational ? ", rotating" : ", solid state";
  table.row("disk of " + disk.folder,
            fmt::format("{} free of {}, {} on {}, {}", formatBytes(disk.free), formatBytes(disk.total),
                        disk.fileSystem.empty() ? "unknown file system" : disk.fileSystem,
                        disk.mountPoint.empty() ? "an unknown mount" : disk.mountPoint, device));
}

} // namespace

Json toJson(const HardwareProfile& profile) {
  Json disks = Json::array(), gpus = Json::array(), rates = Json::array();
  for (const DiskFacts& disk : profile.disks)
    disks.push_back({{"folder", disk.folder},
                     {"mount_point", disk.mountPoint},
                     {"file_system", disk.fileSystem},
                     {"device", disk.device},
                     {"model", disk.model},
                     {"rotational", orNull(disk.rotational)},
                     {"total", disk.total},
                     {"free", disk.free}});
  for (const GpuFacts& gpu : profile.nvidia.gpus)
    gpus.push_back({{"pci_address", gpu.pciAddress},
                    {"device_id", gpu.deviceId},
                    {"name", gpu.name},
                    {"bound_driver", gpu.boundDriver}});
  for (const MeasuredRate& rate : profile.rates)
    rates.push_back({{"what", rate.what},
                     {"per_second", rate.perSecond},
                     {"unit", rate.unit},
                     {"source", rate.source},
                     {"measured_at", rate.measuredAt}});
  return {{"host", profile.host},
          {"kernel", profile.kernel},
          {"cpu", cpuJson(profile.cpu)},
          {"memory", memoryJson(profile.memory)},
          {"disks", std::move(disks)},
          {"nvidia",
           {{"gpus", std::move(gpus)},
            {"driver_version", profile.nvidia.driverVersion},
            {"device_nodes", profile.nvidia.deviceNodes}}},
          {"rates", std::move(rates)},
          {"unknown", profile.unknown}};
}

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
  table.row("host", fmt::format("{}, Linux {}", profile.host, profile.kernel));
  addCpu(table, profile.cpu);
  addMemory(table, profile.memory);
  for (const DiskFacts& disk : profile.disks) addDisk(table, disk);
  for (const GpuFacts& gpu : profile.nvidia.gpus)
    table.row("NVIDIA card", fmt::format("{} at PCI {}, driver {}",
                                         gpu.name.empty() ? "10de:" + gpu.deviceId : gpu.name, gpu.pciAddress,
                                         profile.nvidia.driverVersion.empty() ? "none" : profile.nvidia.driverVersion));
  for (const MeasuredRate& rate : profile.rates) {
    const std::string figure = rate.unit == "bytes" ? formatBytes(static_cast<Bytes>(rate.perSecond)) + "/s"
                                                    : fmt::format("{:.4g} {}/s", rate.perSecond, rate.unit);
    table.row(rate.what, fmt::format("{} ({}, {})", figure, rate.source, rate.measuredAt));
  }
  for (const std::string& what : profile.unknown) table.row("unknown", what);
  return table.take();
}

} // namespace millrace
