#include "hardware/topology.h"

#include "hardware/hwloc_topology.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <sys/utsname.h>

namespace millrace {

namespace {

int countOf(hwloc_topology_t topology, hwloc_obj_type_t type) {
  return std::max(hwloc_get_nbobjs_by_type(topology, type), 0);
}

void readCaches(hwloc_topology_t topology, CpuFacts& cpu) {
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE}) {
    const hwloc_obj_t first = hwloc_get_obj_by_type(topology, type, 0);
    if (!first) continue;
    cpu.caches.push_back({static_cast<int>(first->attr->cache.depth), static_cast<Bytes>(first->attr->cache.size),
                          countOf(topology, type)});
  }
}

void readNodes(hwloc_topology_t topology, CpuFacts& cpu) {
  for (hwloc_obj_t node = nullptr; (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node));) {
    NumaNode facts;
    facts.index = static_cast<int>(node->os_index);
    facts.memory = static_cast<Bytes>(node->attr->numanode.local_memory);
    facts.cores = std::max(hwloc_get_nbobjs_inside_cpuset_by_type(topology, node->cpuset, HWLOC_OBJ_CORE), 0);
    facts.threads = std::max(hwloc_get_nbobjs_inside_cpuset_by_type(topology, node->cpuset, HWLOC_OBJ_PU), 0);
    cpu.numaNodes.push_back(facts);
  }
  std::sort(cpu.numaNodes.begin(), cpu.numaNodes.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.index < b.index; });
}

/// Cores with at least one hardware thread among the allowed ones, and how many of those threads there are.
void countAllowed(hwloc_topology_t topology, const std::vector<int>& allowed, CpuFacts& cpu) {
  const auto isAllowed = [&](unsigned index) {
    return std::binary_search(allowed.begin(), allowed.end(), static_cast<int>(index));
  };
  for (hwloc_obj_t unit = nullptr; (unit = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, unit));)
    cpu.allowedThreads += isAllowed(unit->os_index) ? 1 : 0;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_CORE, core));) {
    for (int index = hwloc_bitmap_first(core->cpuset); index >= 0; index = hwloc_bitmap_next(core->cpuset, index)) {
      if (!isAllowed(static_cast<unsigned>(index))) continue;
      ++cpu.allowedCores;
      break;
    }
  }
}

std::string processorName(const SystemFiles& files) {
  const std::string text = files.text("/proc/cpuinfo").value_or("");
  for (const std::string_view line : splitLines(text)) {
    if (line.substr(0, 10) != "model name") continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string_view::npos) return std::string(trimmed(line.substr(colon + 1)));
  }
  return "";
}

} // namespace

std::vector<int> parseCpuList(std::string_view text) {
  std::vector<int> indices;
  for (const std::string_view piece : splitAt(trimmed(text), ',')) {
    const std::size_t dash = piece.find('-');
    const auto first = parseInteger(piece.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parseInteger(piece.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last > 1'000'000) return {};
    for (std::int64_t i = *first; i <= *last; ++i) indices.push_back(static_cast<int>(i));
  }
  std::sort(indices.begin(), indices.end());
  return indices;
}

CpuFacts readCpuFacts(const SystemFiles& files, const Path& topologyXml, std::vector<std::string>& unknown) {
  CpuFacts cpu;
  utsname system = {};
  if (::uname(&system) == 0) cpu.architecture = system.machine;
  cpu.name = processorName(files);
  if (cpu.name.empty()) unknown.push_back("processor name: /proc/cpuinfo does not give one");

  const std::string status = files.text("/proc/self/status").value_or("");
  const auto allowedWords = wordsAfter(status, "Cpus_allowed_list");
  const std::vector<int> allowed = allowedWords.empty() ? std::vector<int>() : parseCpuList(allowedWords[0]);
  if (allowed.empty()) unknown.push_back("processors this process may use: /proc/self/status does not give them");

  if (const Topology topology = loadTopology(topologyXml)) {
    cpu.packages = countOf(topology.get(), HWLOC_OBJ_PACKAGE);
    cpu.cores = countOf(topology.get(), HWLOC_OBJ_CORE);
    cpu.threads = countOf(topology.get(), HWLOC_OBJ_PU);
    readCaches(topology.get(), cpu);
    readNodes(topology.get(), cpu);
    countAllowed(topology.get(), allowed, cpu);
  } else {
    unknown.push_back(topologyXml.empty()
                          ? "processor topology: hwloc could not read it"
                          : fmt::format("processor topology: hwloc could not read {}", topologyXml.string()));
    cpu.allowedThreads = static_cast<int>(allowed.size());
  }
  // Some virtual machines and containers tell of no cores; then each hardware thread counts as one.
  if (cpu.cores == 0) cpu.cores = cpu.threads;
  if (cpu.allowedThreads == 0) cpu.allowedThreads = cpu.threads;
  if (cpu.allowedCores == 0) cpu.allowedCores = std::min(cpu.allowedThreads, std::max(cpu.cores, cpu.allowedThreads));

  const CgroupCpu group = cgroupCpu(files);
  cpu.quota = group.quota;
  cpu.quotaSource = group.source;
  cpu.usableCores = std::max(cpu.allowedCores, 1);
  // A quota is spent by all threads together: more threads than it covers only make each of them stall.
  if (cpu.quota)
    cpu.usableCores = std::clamp(static_cast<int>(std::floor(std::min(*cpu.quota, 1e6))), 1, cpu.usableCores);
  return cpu;
}

} // namespace millrace
