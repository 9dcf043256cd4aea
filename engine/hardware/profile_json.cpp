#include "hardware/profile_json.h"

#include "engine/machines.h"
#include "hardware/rate_text.h"

#include <fmt/format.h>

namespace millrace {

namespace {

template <class T>
Json orNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// For one of the visit...Rates().
class RateWriter {
 public:
  void operator()(const Rate& rate, const char* key, const char*, RateUnit) {
    if (!rate.known()) return;
    json[key] = {{"per_second", rate.perSecond}, {"origin", toString(rate.origin)}, {"source", rate.source}};
    if (!rate.measuredAt.empty()) json[key]["measured_at"] = rate.measuredAt;
  }
  Json json = Json::object();
};

Json toJson(const DeviceRates& rates) {
  RateWriter writer;
  visitDeviceRates(rates, writer);
  return std::move(writer.json);
}

Json toJson(const HostRates& rates) {
  RateWriter writer;
  visitHostRates(rates, writer);
  return std::move(writer.json);
}

Json toJson(const DiskRates& rates) {
  RateWriter writer;
  visitDiskRates(rates, writer);
  return std::move(writer.json);
}

Json toJson(const PciLink& link) {
  return {{"generation", link.generation}, {"width", link.width}};
}

Json toJson(const CpuFacts& cpu, const DeviceRates& rates) {
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
            {"amx_bf16", sets.amxBf16}}},
          {"rates", toJson(rates)}};
}

Json toJson(const MemoryFacts& memory) {
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

Json toJson(const DiskFacts& disk) {
  return {{"folder", disk.folder},
          {"mount_point", disk.mountPoint},
          {"file_system", disk.fileSystem},
          {"device", disk.device},
          {"model", disk.model},
          {"kind", toString(disk.kind)},
          {"network", disk.network},
          {"total", disk.total},
          {"free", disk.free},
          {"rated_endurance", disk.ratedEndurance},
          {"rates", toJson(disk.rates)}};
}

Json toJson(const GpuFacts& gpu) {
  Json processes = Json::array();
  for (const GpuProcess& process : gpu.processes)
    processes.push_back({{"pid", process.pid}, {"name", process.name}, {"memory", orNull(process.memory)}});
  return {{"index", gpu.index},
          {"pci_address", gpu.pciAddress},
          {"device_id", gpu.deviceId},
          {"name", gpu.name},
          {"bound_driver", gpu.boundDriver},
          {"uuid", gpu.uuid},
          {"memory_total", gpu.memoryTotal},
          {"memory_free", gpu.memoryFree},
          {"processes", std::move(processes)},
          {"compute_capability",
           gpu.capability ? Json(fmt::format("{}.{}", gpu.capability->major, gpu.capability->minor)) : Json(nullptr)},
          {"link", toJson(gpu.link)},
          {"maximal_link", toJson(gpu.maximalLink)},
          {"numa_node", orNull(gpu.numaNode)},
          {"display_attached", gpu.displayAttached},
          {"power_limit", gpu.powerLimit},
          {"rates", toJson(gpu.rates)}};
}

} // namespace

std::string_view toString(DiskKind kind) {
  switch (kind) {
  case DiskKind::Unknown:
    return "unknown";
  case DiskKind::Nvme:
    return "nvme";
  case DiskKind::Ssd:
    return "ssd";
  case DiskKind::Hdd:
    return "hdd";
  case DiskKind::Network:
    return "network";
  case DiskKind::Memory:
    return "memory";
  }
  return "unknown";
}

Json toJson(const HardwareProfile& profile) {
  Json disks = Json::array(), gpus = Json::array();
  for (const DiskFacts& disk : profile.disks) disks.push_back(toJson(disk));
  for (const GpuFacts& gpu : profile.nvidia.gpus) gpus.push_back(toJson(gpu));
  const std::string ownName = profile.host.empty() ? "this machine" : profile.host;
  return {{"format", machineFormat},
          {"name", profile.name.empty() ? ownName : profile.name},
          {"source", profile.source},
          {"host", profile.host},
          {"kernel", profile.kernel},
          {"wsl", profile.wsl},
          {"host_power", profile.hostPower},
          {"cpu", toJson(profile.cpu, profile.cpuRates)},
          {"memory", toJson(profile.memory)},
          {"disks", std::move(disks)},
          {"gpus", std::move(gpus)},
          {"nvidia", {{"driver_version", profile.nvidia.driverVersion}, {"device_nodes", profile.nvidia.deviceNodes}}},
          {"host_rates", toJson(profile.hostRates)},
          {"unknown", profile.unknown}};
}

} // namespace millrace
