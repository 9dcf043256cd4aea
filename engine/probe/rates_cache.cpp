#include "base/atomic_file.h"
#include "engine/probe.h"
#include "probe/rates_json.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

namespace millrace {

namespace {

constexpr int cacheFormat = 1;
constexpr std::size_t mostEntries = 64; // homes are shared by machines, programs are updated: the oldest go
constexpr Bytes mostCacheBytes = 4 * MiB;
constexpr const char* noCache = "no measured rates are kept: neither XDG_CACHE_HOME nor HOME names a folder that is "
                                "there; name a file with --cache";

/// The entries, newest first; BadInput when the file is not what cacheRates() writes.
Result<std::vector<Json>> readEntries(FileSystem& files, const Path& cache) {
  MILLRACE_TRY(Json json, readJsonFile(files, cache, mostCacheBytes));
  JsonReader reader(json, cache.string());
  reader.integer("format", 0, cacheFormat, cacheFormat);
  if (!reader.has("format")) reader.problem("format", "is missing");
  const Json& machines = reader.value("machines");
  if (!machines.is_array()) reader.problem("machines", "is no list");
  MILLRACE_CHECK(reader.finish());
  return std::vector<Json>(machines.begin(), machines.end());
}

/// When the oldest of a report's figures was measured: what a partly failed measurement kept has an earlier date.
WallTime oldest(ProbeReport report) {
  WallTime time = *parseWallTime(report.measuredAt);
  forEachRate(report, [&](const Rate& rate) {
    if (rate.known()) time = std::min(time, *parseWallTime(rate.measuredAt));
  });
  return time;
}

bool sameDisk(const ProbedDisk& a, const ProbedDisk& b) {
  return a.mountPoint == b.mountPoint && a.device == b.device;
}

} // namespace

MachineKey machineKey(const HardwareProfile& profile, int threads, const std::string& device) {
  MachineKey key;
  key.host = profile.host;
  key.processor = profile.cpu.name;
  key.device = device;
  key.threads = threads > 0 ? threads : std::max(1, profile.cpu.usableCores);
  key.version = MILLRACE_VERSION;
  return key;
}

const DiskRates* ProbeReport::disk(const DiskFacts& facts) const {
  for (const ProbedDisk& probed : disks)
    if (probed.mountPoint == facts.mountPoint && probed.device == facts.device && probed.problem.empty())
      return &probed.rates;
  return nullptr;
}

Path ratesCacheFile() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return Path(cache) / "millrace" / "rates.json";
  // A home that is not there is not made, and a place that others share is not trusted.
  std::error_code problem;
  if (const char* home = std::getenv("HOME"); home && *home == '/' && std::filesystem::is_directory(home, problem))
    return Path(home) / ".cache" / "millrace" / "rates.json";
  return {};
}

CachedRates cachedRates(FileSystem& files, const Path& cache, const MachineKey& machine, WallTime now) {
  constexpr const char* fix = "measure with: millrace bench machine";
  CachedRates cached;
  if (cache.empty()) {
    cached.notice = noCache;
    return cached;
  }
  if (!files.exists(cache)) {
    cached.notice = fmt::format("this machine's rates were never measured; {}", fix);
    return cached;
  }
  const auto entries = readEntries(files, cache);
  if (!entries) {
    cached.notice = fmt::format("the cache of measured rates is damaged ({}); {}", entries.error().message, fix);
    return cached;
  }
  const auto entry =
      std::find_if(entries->begin(), entries->end(), [&](const Json& json) { return isEntryOf(json, machine); });
  if (entry == entries->end()) {
    cached.notice = fmt::format("the rates of {} with {} threads were never measured by version {}; {}", machine.device,
                                machine.threads, machine.version, fix);
    return cached;
  }
  auto report = ratesFromJson(*entry, cache.string());
  if (!report) {
    cached.notice = fmt::format("this machine's entry in the cache of measured rates is damaged ({}); {}",
                                report.error().message, fix);
    return cached;
  }
  // Whole hours of difference do not matter, a clock that was set back does.
  const WallTime measured = oldest(*report);
  const auto age = now - measured;
  cached.days = static_cast<int>(std::chrono::duration_cast<std::chrono::hours>(age).count() / 24);
  cached.old = cached.days > ratesKeepDays || cached.days < 0;
  if (cached.days < 0)
    cached.notice = fmt::format("the cached rates are dated {}, which is not yet; {}", formatWallTime(measured), fix);
  else if (cached.old)
    cached.notice = fmt::format("this machine's rates were measured {} days ago; {}", cached.days, fix);
  cached.report = std::move(*report);
  return cached;
}

std::vector<MachineKey> cachedMachines(FileSystem& files, const Path& cache) {
  std::vector<MachineKey> machines;
  if (cache.empty() || !files.exists(cache)) return machines;
  const auto entries = readEntries(files, cache);
  if (!entries) return machines;
  for (const Json& entry : *entries)
    if (auto report = ratesFromJson(entry, cache.string())) machines.push_back(std::move(report->machine));
  return machines;
}

Result<std::string> cacheRates(FileSystem& files, const Path& cache, const ProbeReport& report) {
  if (cache.empty()) return noCache;
  std::string notice;
  std::vector<Json> entries;
  if (files.exists(cache)) {
    auto known = readEntries(files, cache);
    if (known) {
      entries = std::move(*known);
    } else if (known.error().kind != ErrorKind::BadInput) { // it may be whole, and could be read another time
      return tl::unexpected(known.error());
    } else { // perhaps a person's file, or one of a newer version
      const Path aside = cache.string() + ".bad";
      MILLRACE_CHECK(files.rename(cache, aside));
      notice = fmt::format("a damaged cache of measured rates was kept aside as {} ({})", aside.string(),
                           known.error().message);
    }
  }
  ProbeReport merged = report;
  std::erase_if(merged.disks, [](const ProbedDisk& disk) { return !disk.problem.empty(); });
  for (const Json& entry : entries) {
    if (!isEntryOf(entry, report.machine)) continue;
    const auto before = ratesFromJson(entry, cache.string());
    if (!before) {
      notice = fmt::format("a damaged entry of this machine was replaced ({})", before.error().message);
      continue;
    }
    keepUnmeasured(merged, *before);
    for (const ProbedDisk& disk : before->disks)
      if (std::none_of(merged.disks.begin(), merged.disks.end(),
                       [&](const ProbedDisk& newer) { return sameDisk(newer, disk); }))
        merged.disks.push_back(disk);
  }
  std::erase_if(entries, [&](const Json& entry) { return !entry.is_object() || isEntryOf(entry, report.machine); });
  entries.insert(entries.begin(), ratesToJson(merged));
  if (entries.size() > mostEntries) entries.resize(mostEntries);
  Json json;
  json["format"] = cacheFormat;
  json["machines"] = entries;
  if (cache.has_parent_path()) MILLRACE_CHECK(files.createDirectories(cache.parent_path()));
  MILLRACE_CHECK(writeTextFile(files, cache, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  return notice;
}

Status checkRatesCache(FileSystem& files, const Path& cache) {
  if (!files.exists(cache)) return {};
  if (const auto entries = readEntries(files, cache); !entries)
    return badInput(fmt::format("{}: exists and is no cache of measured rates ({}): remove it or give another name",
                                cache.string(), entries.error().message));
  return {};
}

HardwareProfile withMeasuredRates(HardwareProfile profile, const ProbeReport& report) {
  const auto take = [](Rate& rate, const Rate& measured) {
    if (measured.known()) rate = measured;
  };
  const auto takeAll = [&](DeviceRates& device) {
    take(device.copyIn, report.device.copyIn);
    take(device.copyOut, report.device.copyOut);
    take(device.copyBoth, report.device.copyBoth);
    take(device.gemmFp32, report.device.gemmFp32);
    take(device.gemmTf32, report.device.gemmTf32);
    take(device.gemmBf16, report.device.gemmBf16);
    take(device.memory, report.device.memory);
  };
  const auto measured = [&](const GpuFacts& gpu) { return !gpu.name.empty() && gpu.name == report.machine.device; };
  std::vector<GpuFacts>& gpus = profile.nvidia.gpus;
  if (std::none_of(gpus.begin(), gpus.end(), measured)) takeAll(profile.cpuRates);
  for (GpuFacts& gpu : gpus)
    if (measured(gpu)) takeAll(gpu.rates);
  take(profile.hostRates.memory, report.hostFp32.memory);
  take(profile.hostRates.adamW, report.hostFp32.adamW);
  take(profile.hostRates.adamWBesideCopies, report.hostFp32.adamWBesideCopies);
  take(profile.hostRates.adamWSplit, report.hostBf16.adamW);
  take(profile.hostRates.adamWSplitBesideCopies, report.hostBf16.adamWBesideCopies);
  for (DiskFacts& disk : profile.disks)
    if (const DiskRates* rates = report.disk(disk)) {
      take(disk.rates.read, rates->read);
      take(disk.rates.write, rates->write);
    }
  return profile;
}

HardwareProfile withCachedRates(FileSystem& files, HardwareProfile profile, int threads, int gpu, std::string* notice) {
  if (!profile.name.empty()) return profile; // another machine, or of another day: the file's word
  const std::string device = gpu < 0 ? "cpu" : profile.nvidia.gpus[static_cast<std::size_t>(gpu)].name;
  const CachedRates cached = cachedRates(files, ratesCacheFile(), machineKey(profile, threads, device));
  if (notice) *notice = cached.notice;
  return cached.report ? withMeasuredRates(std::move(profile), *cached.report) : profile;
}

} // namespace millrace
