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
  if (const char* home = std::getenv("HOME"); home && *home) return Path(home) / ".cache" / "millrace" / "rates.json";
  return std::filesystem::temp_directory_path() / "millrace-rates.json";
}

CachedRates cachedRates(FileSystem& files, const Path& cache, const MachineKey& machine, WallTime now) {
  constexpr const char* fix = "measure with: millrace bench machine";
  CachedRates cached;
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
  const auto age = now - *parseWallTime(report->measuredAt);
  cached.days = static_cast<int>(std::chrono::duration_cast<std::chrono::hours>(age).count() / 24);
  cached.old = cached.days > ratesKeepDays || cached.days < 0;
  if (cached.days < 0)
    cached.notice = fmt::format("the cached rates are dated {}, which is not yet; {}", report->measuredAt, fix);
  else if (cached.old)
    cached.notice = fmt::format("this machine's rates were measured {} days ago; {}", cached.days, fix);
  cached.report = std::move(*report);
  return cached;
}

Result<std::string> cacheRates(FileSystem& files, const Path& cache, const ProbeReport& report) {
  std::string notice;
  std::vector<Json> entries;
  if (files.exists(cache)) {
    auto known = readEntries(files, cache);
    if (known)
      entries = std::move(*known);
    else
      notice = fmt::format("a damaged cache of measured rates was replaced ({})", known.error().message);
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

} // namespace millrace
