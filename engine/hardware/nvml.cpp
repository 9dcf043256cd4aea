#include "hardware/nvml.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>

namespace millrace {

namespace {

std::string reason(const NvmlApi& api, NvmlReturn code) {
  const char* text = api.errorString(code);
  return text ? fmt::format("{} (NVML {})", text, code) : fmt::format("NVML {}", code);
}

class Session {
 public:
  explicit Session(const NvmlApi& api) : m_api(api), m_code(api.init()) {}
  ~Session() {
    if (m_code == nvmlSuccess) m_api.shutdown();
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  NvmlReturn code() const { return m_code; }

 private:
  const NvmlApi& m_api;
  NvmlReturn m_code;
};

Bytes toBytes(unsigned long long value) {
  return static_cast<Bytes>(std::min<unsigned long long>(value, std::numeric_limits<Bytes>::max()));
}

/// Reads one GPU and notes what it did not tell.
class GpuReader {
 public:
  GpuReader(const NvmlApi& api, const SystemFiles& files, NvmlDevice device, std::string label,
            std::vector<std::string>& unknown)
      : m_api(api), m_files(files), m_device(device), m_label(std::move(label)), m_unknown(unknown) {}

  void read(GpuFacts& gpu) {
    gpu.name = text(m_api.name, "name").value_or(gpu.name);
    gpu.uuid = text(m_api.uuid, "UUID").value_or("");
    readMemory(gpu);
    readProcesses(gpu);
    ComputeCapability capability;
    if (tells("compute capability", m_api.computeCapability, &capability.major, &capability.minor))
      gpu.capability = capability;
    // A virtual GPU has no link of its own; what the bus shows stays.
    number(m_api.linkGeneration, "link generation", gpu.link.generation);
    number(m_api.linkWidth, "link width", gpu.link.width);
    number(m_api.maximalLinkGeneration, "maximal link generation", gpu.maximalLink.generation);
    number(m_api.maximalLinkWidth, "maximal link width", gpu.maximalLink.width);
    int on = 0;
    if (tells("display mode", m_api.displayMode, &on) && on) gpu.displayAttached = true;
    if (tells("display activity", m_api.displayActive, &on) && on) gpu.displayAttached = true;
    unsigned milliwatts = 0;
    if (tells("power limit", m_api.powerLimit, &milliwatts)) gpu.powerLimit = milliwatts / 1e3;
    unsigned current = 0, pending = 0;
    if (m_api.migMode && m_api.migMode(m_device, &current, &pending) == nvmlSuccess && current != 0)
      note("memory of its instances", "it is divided into instances (MIG); the figures are of the whole card");
    // One line for all functions that an old driver lacks, since the fix is one.
    if (!m_missing.empty())
      note(fmt::format("{}", fmt::join(m_missing, ", ")), "the driver's library has no such function; a newer one has");
  }

 private:
  void note(std::string_view what, std::string_view why) {
    m_unknown.push_back(fmt::format("{} of {}: {}", what, m_label, why));
  }

  template <class Function, class... Arguments>
  bool tells(std::string_view what, Function function, Arguments... arguments) {
    if (!function) {
      m_missing.emplace_back(what);
      return false;
    }
    const NvmlReturn code = function(m_device, arguments...);
    if (code == nvmlSuccess) return true;
    if (code != nvmlNotSupported) note(what, reason(m_api, code)); // not supported: the card has no such thing
    return false;
  }

  std::optional<std::string> text(NvmlReturn (*function)(NvmlDevice, char*, unsigned), std::string_view what) {
    char buffer[128] = {};
    if (!tells(what, function, buffer, static_cast<unsigned>(sizeof buffer - 1))) return std::nullopt;
    return std::string(buffer);
  }

  void number(NvmlReturn (*function)(NvmlDevice, unsigned*), std::string_view what, int& value) {
    unsigned told = 0;
    if (tells(what, function, &told) && told <= 1'000'000) value = static_cast<int>(told);
  }

  void readMemory(GpuFacts& gpu) {
    NvmlMemory memory = {};
    const NvmlReturn code = m_api.memoryInfo(m_device, &memory);
    if (code == nvmlNotSupported)
      return note("memory", "the driver tells of none, as where it is shared with the processor");
    if (code != nvmlSuccess) return note("memory", reason(m_api, code));
    gpu.memoryTotal = toBytes(memory.total);
    gpu.memoryFree = std::min(toBytes(memory.free), gpu.memoryTotal);
  }

  std::string processName(unsigned pid) {
    char buffer[1024] = {};
    if (m_api.processName && m_api.processName(pid, buffer, sizeof buffer - 1) == nvmlSuccess && buffer[0] != 0) {
      // It may be a whole command line; the program's own name is enough.
      const std::string_view line(buffer);
      const std::string_view program = line.substr(0, line.find(' '));
      return std::string(program.substr(program.rfind('/') == std::string_view::npos ? 0 : program.rfind('/') + 1));
    }
    return m_files.text(fmt::format("/proc/{}/comm", pid)).value_or("");
  }

  void addProcesses(NvmlReturn (*function)(NvmlDevice, unsigned*, NvmlProcess*), std::string_view what, GpuFacts& gpu) {
    std::vector<NvmlProcess> list(32);
    unsigned count = static_cast<unsigned>(list.size());
    if (!function) return m_missing.emplace_back(what), void();
    NvmlReturn code = function(m_device, &count, list.data());
    for (int attempt = 0; code == nvmlInsufficientSize && attempt < 4; ++attempt) { // others may start meanwhile
      list.resize(std::min<std::size_t>(std::max<std::size_t>(count, list.size()) * 2, 65536));
      count = static_cast<unsigned>(list.size());
      code = function(m_device, &count, list.data());
    }
    if (code != nvmlSuccess) {
      if (code != nvmlNotSupported) note(what, reason(m_api, code));
      return;
    }
    list.resize(std::min<std::size_t>(count, list.size()));
    for (const NvmlProcess& process : list) {
      std::optional<Bytes> memory;
      if (process.usedGpuMemory != nvmlValueNotAvailable) memory = toBytes(process.usedGpuMemory);
      const auto known = std::find_if(gpu.processes.begin(), gpu.processes.end(),
                                      [&](const GpuProcess& other) { return other.pid == process.pid; });
      if (known != gpu.processes.end()) // it computes and draws; both lists give its whole memory
        known->memory = std::max(known->memory, memory);
      else
        gpu.processes.push_back({process.pid, processName(process.pid), memory});
    }
  }

  void readProcesses(GpuFacts& gpu) {
    addProcesses(m_api.computeProcesses, "computing processes", gpu);
    addProcesses(m_api.graphicsProcesses, "drawing processes", gpu);
    std::stable_sort(gpu.processes.begin(), gpu.processes.end(),
                     [](const GpuProcess& a, const GpuProcess& b) { return a.memory > b.memory; });
  }

  const NvmlApi& m_api;
  const SystemFiles& m_files;
  NvmlDevice m_device;
  std::string m_label;
  std::vector<std::string>& m_unknown;
  std::vector<std::string> m_missing;
};

} // namespace

std::string busAddress(std::string_view busId) {
  std::string address;
  for (const char c : busId) address += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::size_t domain = std::min(address.find(':'), address.size());
  if (domain > 4) address.erase(0, std::min(domain - 4, address.find_first_not_of('0')));
  return address;
}

Status addNvmlFacts(const NvmlApi& api, const SystemFiles& files, NvidiaFacts& nvidia,
                    std::vector<std::string>& unknown) {
  const Session session(api);
  if (session.code() != nvmlSuccess) return failed(reason(api, session.code()));
  unsigned count = 0;
  if (const NvmlReturn code = api.deviceCount(&count); code != nvmlSuccess) return failed(reason(api, code));

  if (char version[96] = {};
      nvidia.driverVersion.empty() && api.driverVersion && api.driverVersion(version, sizeof version - 1) == 0)
    nvidia.driverVersion = version;
  for (unsigned index = 0; index < std::min(count, 1024u); ++index) {
    NvmlDevice device = nullptr;
    NvmlPciInfo pci = {};
    NvmlReturn code = api.deviceByIndex(index, &device);
    if (code == nvmlSuccess) code = api.pciInfo(device, &pci);
    if (code != nvmlSuccess) { // fell off the bus, or is another user's
      unknown.push_back(fmt::format("GPU {}: {}", index, reason(api, code)));
      continue;
    }
    pci.busId[sizeof pci.busId - 1] = 0;
    const std::string address = busAddress(pci.busId);
    auto gpu = std::find_if(nvidia.gpus.begin(), nvidia.gpus.end(),
                            [&](const GpuFacts& other) { return other.pciAddress == address; });
    if (gpu == nvidia.gpus.end()) {
      gpu = nvidia.gpus.emplace(gpu);
      gpu->pciAddress = address;
      gpu->deviceId = fmt::format("{:04x}", pci.pciDeviceId >> 16);
      gpu->boundDriver = "nvidia";
    }
    gpu->index = static_cast<int>(index);
    GpuReader(api, files, device, fmt::format("GPU {}", index), unknown).read(*gpu);
  }
  std::sort(nvidia.gpus.begin(), nvidia.gpus.end(),
            [](const GpuFacts& a, const GpuFacts& b) { return a.pciAddress < b.pciAddress; });
  return {};
}

} // namespace millrace
