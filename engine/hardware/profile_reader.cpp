// Machine files, checked key by key: they come from other people.
#include "hardware/profile_json.h"

#include "engine/machines.h"
#include "hardware/rate_text.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <functional>

namespace millrace {

namespace {

constexpr Bytes maximalSize = Bytes{1} << 56; // 64 PiB: sums of all sizes of a file stay within 63 bits
constexpr double maximalPower = 1e9;
constexpr std::int64_t maximalCount = 1'000'000;
constexpr std::size_t maximalGpus = 64;

Bytes sizeOf(JsonReader& reader, const std::string& key, Bytes fallback) {
  const Bytes size = reader.bytes(key, fallback);
  if (size <= maximalSize) return size;
  reader.problem(key, fmt::format("is {}, expected at most {}", formatBytes(size), formatBytes(maximalSize)));
  return fallback;
}

std::optional<Bytes> optionalSize(JsonReader& reader, const std::string& key) {
  if (!reader.has(key)) return std::nullopt;
  return sizeOf(reader, key, 0);
}

/// What is free of a total; all of it when the file does not say.
Bytes freeOf(JsonReader& reader, const std::string& key, Bytes total, const std::string& totalKey) {
  const Bytes free = sizeOf(reader, key, total);
  if (free > total)
    reader.problem(key, fmt::format("is {}, more than {} ({})", formatBytes(free), totalKey, formatBytes(total)));
  return std::min(free, total);
}

/// Texts are shown in tables and messages, a line each.
std::string withoutControls(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return text;
}

std::string line(JsonReader& reader, const std::string& key, const std::string& fallback) {
  return withoutControls(reader.text(key, fallback));
}

int count(JsonReader& reader, const std::string& key, int fallback, std::int64_t maximum = maximalCount) {
  return static_cast<int>(reader.integer(key, fallback, 0, maximum));
}

class ProfileReader {
 public:
  ProfileReader(const Json& json, std::string source) : m_json(json), m_source(std::move(source)) {}

  Result<HardwareProfile> read() {
    JsonReader reader(m_json, m_source);
    if (!reader.has("format"))
      reader.problem("format", fmt::format("is missing, expected \"format\": {} in a machine file", machineFormat));
    if (const auto format = reader.integer("format", machineFormat, 1, INT64_MAX); format > machineFormat)
      reader.problem("format", fmt::format("is {}, this program reads up to {}: use a newer version of it", format,
                                           machineFormat));
    MILLRACE_CHECK(reader.status());

    HardwareProfile profile;
    profile.name = line(reader, "name", "");
    if (profile.name.empty()) reader.problem("name", "is missing, expected a name for the machine");
    profile.source = line(reader, "source", "");
    m_rateSource = profile.name;
    m_rateOrigin = reader.choice("origin", "entered", {"entered", "assumed"}) == "assumed" ? RateOrigin::Assumed
                                                                                           : RateOrigin::Entered;
    profile.host = line(reader, "host", "");
    profile.kernel = line(reader, "kernel", "");
    profile.wsl = reader.boolean("wsl", false);
    profile.hostPower = reader.number("host_power", 0, 0, maximalPower);
    reader.ignore("budgets"); // what `hw --json` derives and prints besides
    reader.ignore("notices");
    child(reader, "cpu", [&](JsonReader& cpu) { readCpu(cpu, profile); });
    child(reader, "memory", [&](JsonReader& memory) { readMemory(memory, profile.memory); });
    list(reader, "disks", 256, [&](JsonReader& disk) { profile.disks.push_back(readDisk(disk)); });
    list(reader, "gpus", maximalGpus, [&](JsonReader& gpu) { readGpu(gpu, profile.nvidia.gpus); });
    child(reader, "nvidia", [&](JsonReader& nvidia) {
      profile.nvidia.driverVersion = line(nvidia, "driver_version", "");
      profile.nvidia.deviceNodes = nvidia.boolean("device_nodes", false);
    });
    child(reader, "host_rates", [&](JsonReader& rates) { visitHostRates(profile.hostRates, rateReader(rates)); });
    profile.unknown = texts(reader, "unknown");
    keep(reader.finish());
    MILLRACE_CHECK(m_status);

    const bool gpuMemory = std::any_of(profile.nvidia.gpus.begin(), profile.nvidia.gpus.end(),
                                       [](const GpuFacts& gpu) { return gpu.memoryTotal > 0; });
    if (!gpuMemory && profile.memory.total == 0)
      return badInput(fmt::format("{}: gives no memory: set memory.total, or gpus[0].memory_total", m_source));
    return profile;
  }

 private:
  void keep(const Status& status) {
    if (m_status && !status) m_status = status;
  }

  template <class Read>
  void child(JsonReader& parent, const std::string& key, Read&& read) {
    JsonReader reader(parent.object(key), m_source, parent.path(key) + ".");
    read(reader);
    keep(reader.finish());
  }

  template <class Read>
  void list(JsonReader& parent, const std::string& key, std::size_t most, Read&& read) {
    const Json& values = parent.value(key);
    if (values.is_null()) return;
    if (!values.is_array()) return parent.problem(key, "is not a list");
    if (values.size() > most)
      return parent.problem(key, fmt::format("has {} entries, expected at most {}", values.size(), most));
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string place = fmt::format("{}[{}]", parent.path(key), i);
      if (values[i].is_null()) return parent.problem(key, fmt::format("has no object at {}", place));
      JsonReader reader(values[i], m_source, place + ".");
      read(reader);
      keep(reader.finish());
    }
  }

  std::vector<std::string> texts(JsonReader& parent, const std::string& key) {
    std::vector<std::string> result;
    const Json& values = parent.value(key);
    if (values.is_null()) return result;
    if (!values.is_array()) return parent.problem(key, "is not a list of texts"), result;
    for (const Json& value : values) {
      if (!value.is_string()) return parent.problem(key, "is not a list of texts"), result;
      result.push_back(withoutControls(value.get<std::string>()));
    }
    return result;
  }

  /// For one of the visit...Rates(): fills each rate that the object has.
  std::function<void(Rate&, const char*, const char*, RateUnit)> rateReader(JsonReader& rates) {
    return
        [this, &rates](Rate& rate, const char* key, const char*, RateUnit unit) { readRate(rates, key, unit, rate); };
  }

  void readRate(JsonReader& rates, const std::string& key, RateUnit unit, Rate& rate) {
    const Json& value = rates.value(key);
    if (value.is_null()) return;
    rate.source = m_rateSource;
    rate.origin = m_rateOrigin;
    if (!value.is_object()) return readFigure(rates, key, unit, rate);
    child(rates, key, [&](JsonReader& object) {
      const std::string origin =
          object.choice("origin", std::string(toString(m_rateOrigin)), {"unknown", "assumed", "entered", "measured"});
      for (const RateOrigin known :
           {RateOrigin::Unknown, RateOrigin::Assumed, RateOrigin::Entered, RateOrigin::Measured})
        if (origin == toString(known)) rate.origin = known;
      rate.source = line(object, "source", m_rateSource);
      rate.measuredAt = line(object, "measured_at", "");
      if (!object.has("per_second")) object.problem("per_second", "is missing, expected a rate");
      readFigure(object, "per_second", unit, rate);
    });
  }

  static void readFigure(JsonReader& reader, const std::string& key, RateUnit unit, Rate& rate) {
    const Json& value = reader.value(key);
    if (value.is_string()) {
      const auto parsed = parseRate(value.get<std::string>(), unit);
      if (!parsed)
        reader.problem(key, "is wrong: " + parsed.error().message);
      else
        rate.perSecond = *parsed;
    } else {
      rate.perSecond = reader.number(key, 0, 0, maximalRate);
    }
  }

  void readCpu(JsonReader& reader, HardwareProfile& profile) {
    CpuFacts& cpu = profile.cpu;
    cpu.name = line(reader, "name", "");
    cpu.architecture = line(reader, "architecture", "");
    cpu.cores = count(reader, "cores", 0);
    cpu.packages = count(reader, "packages", cpu.cores > 0 ? 1 : 0);
    cpu.threads = count(reader, "threads", cpu.cores);
    cpu.allowedCores = count(reader, "allowed_cores", cpu.cores);
    cpu.allowedThreads = count(reader, "allowed_threads", cpu.threads);
    if (reader.has("quota")) cpu.quota = reader.number("quota", 0, 0, 1e9);
    cpu.quotaSource = line(reader, "quota_source", "");
    cpu.usableCores = std::max(count(reader, "usable_cores", cpu.allowedCores), 1);
    list(reader, "caches", 64, [&](JsonReader& cache) {
      const int level = count(cache, "level", 0, 16);
      const Bytes size = sizeOf(cache, "bytes", 0);
      cpu.caches.push_back({level, size, count(cache, "count", 1)});
    });
    list(reader, "numa_nodes", 4096, [&](JsonReader& node) {
      const int index = count(node, "index", static_cast<int>(cpu.numaNodes.size()));
      const Bytes memory = sizeOf(node, "bytes", 0);
      const int cores = count(node, "cores", 0);
      cpu.numaNodes.push_back({index, memory, cores, count(node, "threads", cores)});
    });
    child(reader, "instruction_sets", [&](JsonReader& sets) {
      cpu.instructionSets.sse42 = sets.boolean("sse42", false);
      cpu.instructionSets.avx2 = sets.boolean("avx2", false);
      cpu.instructionSets.avx512 = sets.boolean("avx512", false);
      cpu.instructionSets.avx512Bf16 = sets.boolean("avx512_bf16", false);
      cpu.instructionSets.avx512Vnni = sets.boolean("avx512_vnni", false);
      cpu.instructionSets.amxBf16 = sets.boolean("amx_bf16", false);
    });
    child(reader, "rates", [&](JsonReader& rates) { visitDeviceRates(profile.cpuRates, rateReader(rates)); });
  }

  static void readMemory(JsonReader& reader, MemoryFacts& memory) {
    memory.total = sizeOf(reader, "total", 0);
    memory.available = freeOf(reader, "available", memory.total, "total");
    memory.groupLimit = optionalSize(reader, "group_limit");
    memory.groupLimitSource = line(reader, "group_limit_source", "");
    memory.groupFree = optionalSize(reader, "group_free");
    memory.usable = sizeOf(reader, "usable", std::min(memory.available, memory.groupFree.value_or(memory.available)));
    if (memory.usable > memory.total)
      reader.problem("usable",
                     fmt::format("is {}, more than total ({})", formatBytes(memory.usable), formatBytes(memory.total)));
    memory.lockLimit = optionalSize(reader, "lock_limit");
    memory.hugePageSize = sizeOf(reader, "huge_page_size", 0);
    memory.hugePagesFree = reader.integer("huge_pages_free", 0, 0, INT64_MAX);
    memory.transparentHugePages = line(reader, "transparent_huge_pages", "");
  }

  DiskFacts readDisk(JsonReader& reader) {
    DiskFacts disk;
    disk.folder = line(reader, "folder", "");
    disk.mountPoint = line(reader, "mount_point", "");
    disk.fileSystem = line(reader, "file_system", "");
    disk.device = line(reader, "device", "");
    disk.model = line(reader, "model", "");
    const std::string kind = reader.choice("kind", "unknown", {"unknown", "nvme", "ssd", "hdd", "network", "memory"});
    for (const DiskKind known : {DiskKind::Nvme, DiskKind::Ssd, DiskKind::Hdd, DiskKind::Network, DiskKind::Memory})
      if (kind == toString(known)) disk.kind = known;
    disk.network = reader.boolean("network", disk.kind == DiskKind::Network);
    disk.total = sizeOf(reader, "total", 0);
    disk.free = freeOf(reader, "free", disk.total, "total");
    disk.ratedEndurance = reader.bytes("rated_endurance", 0); // exabytes are possible, and are not added up
    child(reader, "rates", [&](JsonReader& rates) { visitDiskRates(disk.rates, rateReader(rates)); });
    return disk;
  }

  static PciLink readLink(JsonReader& reader) {
    const int generation = count(reader, "generation", 0, 100);
    return {generation, count(reader, "width", 0, 1024)};
  }

  void readGpu(JsonReader& reader, std::vector<GpuFacts>& gpus) {
    const std::int64_t copies = reader.integer("count", 1, 1, static_cast<std::int64_t>(maximalGpus));
    if (gpus.size() + static_cast<std::size_t>(copies) > maximalGpus)
      return reader.problem("count", fmt::format("makes more than {} GPUs", maximalGpus));
    GpuFacts gpu;
    gpu.pciAddress = line(reader, "pci_address", "");
    gpu.deviceId = line(reader, "device_id", "");
    gpu.name = line(reader, "name", "");
    gpu.boundDriver = line(reader, "bound_driver", "nvidia");
    gpu.uuid = line(reader, "uuid", "");
    gpu.memoryTotal = sizeOf(reader, "memory_total", 0);
    gpu.memoryFree = freeOf(reader, "memory_free", gpu.memoryTotal, "memory_total");
    list(reader, "processes", 65536, [&](JsonReader& process) {
      const std::int64_t pid = process.integer("pid", 0, 0, INT64_MAX);
      const std::string name = line(process, "name", "");
      gpu.processes.push_back({pid, name, optionalSize(process, "memory")});
    });
    if (reader.has("compute_capability")) gpu.capability = readCapability(reader);
    child(reader, "maximal_link", [&](JsonReader& link) { gpu.maximalLink = readLink(link); });
    gpu.link = gpu.maximalLink;
    if (reader.has("link")) child(reader, "link", [&](JsonReader& link) { gpu.link = readLink(link); });
    if (reader.has("numa_node")) gpu.numaNode = count(reader, "numa_node", 0, 65535);
    gpu.displayAttached = reader.boolean("display_attached", false);
    gpu.powerLimit = reader.number("power_limit", 0, 0, maximalPower);
    child(reader, "rates", [&](JsonReader& rates) { visitDeviceRates(gpu.rates, rateReader(rates)); });
    const bool indexed = reader.has("index");
    gpu.index = static_cast<int>(reader.integer("index", -1, -1, maximalCount));
    for (std::int64_t i = 0; i < copies; ++i) {
      if (!indexed) gpu.index = static_cast<int>(gpus.size());
      gpus.push_back(gpu);
    }
  }

  static std::optional<ComputeCapability> readCapability(JsonReader& reader) {
    const std::string text = line(reader, "compute_capability", "");
    const std::size_t dot = text.find('.');
    ComputeCapability capability;
    const auto number = [&](std::string_view digits, int& value) {
      const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return code == std::errc() && end == digits.data() + digits.size() && value >= 0 && value < 1000;
    };
    if (dot != std::string::npos && number(std::string_view(text).substr(0, dot), capability.major) &&
        number(std::string_view(text).substr(dot + 1), capability.minor))
      return capability;
    reader.problem("compute_capability", "is no text such as \"9.0\"");
    return std::nullopt;
  }

  const Json& m_json;
  std::string m_source;
  std::string m_rateSource;
  RateOrigin m_rateOrigin = RateOrigin::Entered;
  Status m_status;
};

} // namespace

Result<HardwareProfile> profileFromJson(const Json& json, const std::string& source) {
  if (!json.is_object())
    return badInput(fmt::format("{}: holds {}, expected a machine: an object with \"format\": {}", source,
                                json.type_name(), machineFormat));
  return ProfileReader(json, source).read();
}

} // namespace millrace
