#include "probe/rates_json.h"

#include <array>
#include <cmath>
#include <ctime>
#include <fmt/format.h>

namespace millrace {

namespace {

enum class Unit { Bytes, Parameters, Operations };

struct NamedRate {
  const char* key;
  const char* label;
  Unit unit;
  Rate& (*of)(ProbeReport&);
};

// The rate of host memory stands in both precisions' rates; it is read and written once.
const std::array<NamedRate, 12> namedRates{{
    {"copy_in", "copy, host to device", Unit::Bytes, [](ProbeReport& r) -> Rate& { return r.device.copyIn; }},
    {"copy_out", "copy, device to host", Unit::Bytes, [](ProbeReport& r) -> Rate& { return r.device.copyOut; }},
    {"copy_both", "copies both ways, sum", Unit::Bytes, [](ProbeReport& r) -> Rate& { return r.device.copyBoth; }},
    {"device_memory", "device memory", Unit::Bytes, [](ProbeReport& r) -> Rate& { return r.device.memory; }},
    {"gemm_fp32", "matrix products, fp32", Unit::Operations, [](ProbeReport& r) -> Rate& { return r.device.gemmFp32; }},
    {"gemm_tf32", "matrix products, tf32", Unit::Operations, [](ProbeReport& r) -> Rate& { return r.device.gemmTf32; }},
    {"gemm_bf16", "matrix products, bf16", Unit::Operations, [](ProbeReport& r) -> Rate& { return r.device.gemmBf16; }},
    {"host_memory", "host memory", Unit::Bytes, [](ProbeReport& r) -> Rate& { return r.hostFp32.memory; }},
    {"adamw_fp32", "AdamW, fp32 weights", Unit::Parameters, [](ProbeReport& r) -> Rate& { return r.hostFp32.adamW; }},
    {"adamw_split", "AdamW, split weights", Unit::Parameters, [](ProbeReport& r) -> Rate& { return r.hostBf16.adamW; }},
    {"adamw_fp32_beside_copies", "  beside copies, fp32", Unit::Parameters,
     [](ProbeReport& r) -> Rate& { return r.hostFp32.adamWBesideCopies; }},
    {"adamw_split_beside_copies", "  beside copies, split", Unit::Parameters,
     [](ProbeReport& r) -> Rate& { return r.hostBf16.adamWBesideCopies; }},
}};

constexpr double greatestRate = 1e20;
constexpr double smallestRate = 1e-6;

Json rateToJson(const Rate& rate) {
  return {{"per_second", rate.perSecond}, {"source", rate.source}, {"measured_at", rate.measuredAt}};
}

/// Unknown when the key is absent.
Rate readRate(JsonReader& reader, const std::string& key, const std::string& source) {
  const Json& object = reader.object(key);
  if (object.empty()) return {};
  JsonReader inner(object, source, reader.path(key) + ".");
  Rate rate;
  rate.perSecond = inner.number("per_second", 0, smallestRate, greatestRate);
  rate.origin = RateOrigin::Measured;
  rate.source = inner.text("source", "");
  rate.measuredAt = inner.text("measured_at", "");
  if (!parseWallTime(rate.measuredAt)) inner.problem("measured_at", "is no time");
  if (!rate.known()) inner.problem("per_second", "is missing");
  if (const Status status = inner.finish(); !status) reader.problem(key, status.error().message);
  return rate;
}

std::string describe(const Rate& rate, Unit unit) {
  if (!rate.known()) return "not measured";
  switch (unit) {
  case Unit::Bytes:
    return formatBytes(static_cast<Bytes>(std::min(rate.perSecond, 9e18))) + "/s";
  case Unit::Parameters:
    return fmt::format("{:.4g} million parameters/s", rate.perSecond / 1e6);
  case Unit::Operations:
    return rate.perSecond < 1e12 ? fmt::format("{:.4g} GFLOP/s", rate.perSecond / 1e9)
                                 : fmt::format("{:.4g} TFLOP/s", rate.perSecond / 1e12);
  }
  return "";
}

} // namespace

Json ratesToJson(const ProbeReport& report) {
  Json json;
  json["host"] = report.machine.host;
  json["processor"] = report.machine.processor;
  json["device"] = report.machine.device;
  json["threads"] = report.machine.threads;
  json["version"] = report.machine.version;
  json["measured_at"] = report.measuredAt;
  ProbeReport copy = report;
  Json& rates = json["rates"] = Json::object();
  for (const NamedRate& named : namedRates)
    if (const Rate& rate = named.of(copy); rate.known()) rates[named.key] = rateToJson(rate);
  Json& disks = json["disks"] = Json::array();
  for (const ProbedDisk& disk : report.disks) {
    if (!disk.rates.read.known() || !disk.rates.write.known()) continue;
    disks.push_back({{"folder", disk.folder},
                     {"mount_point", disk.mountPoint},
                     {"device", disk.device},
                     {"read", rateToJson(disk.rates.read)},
                     {"write", rateToJson(disk.rates.write)}});
  }
  return json;
}

void forEachRate(ProbeReport& report, const std::function<void(Rate&)>& visit) {
  for (const NamedRate& named : namedRates) visit(named.of(report));
}

void keepUnmeasured(ProbeReport& report, ProbeReport earlier) {
  for (const NamedRate& named : namedRates)
    if (Rate& rate = named.of(report); !rate.known()) rate = named.of(earlier);
  report.hostBf16.memory = report.hostFp32.memory;
}

bool isEntryOf(const Json& entry, const MachineKey& machine) {
  if (!entry.is_object()) return false;
  const auto is = [&](const char* key, const Json& value) {
    const auto found = entry.find(key);
    return found != entry.end() && *found == value;
  };
  return is("host", machine.host) && is("processor", machine.processor) && is("device", machine.device) &&
         is("threads", machine.threads) && is("version", machine.version);
}

Result<ProbeReport> ratesFromJson(const Json& entry, const std::string& source) {
  JsonReader reader(entry, source);
  ProbeReport report;
  report.machine.host = reader.text("host", "");
  report.machine.processor = reader.text("processor", "");
  report.machine.device = reader.text("device", "");
  report.machine.threads = static_cast<int>(reader.integer("threads", 0, 0, 1 << 20));
  report.machine.version = reader.text("version", "");
  report.measuredAt = reader.text("measured_at", "");
  if (!parseWallTime(report.measuredAt)) reader.problem("measured_at", "is no time");
  const Json& rates = reader.object("rates");
  MILLRACE_CHECK(reader.status());
  JsonReader inner(rates, source, "rates.");
  for (const NamedRate& named : namedRates) named.of(report) = readRate(inner, named.key, source);
  MILLRACE_CHECK(inner.finish());
  report.hostBf16.memory = report.hostFp32.memory;
  const Json& disks = reader.value("disks");
  if (!disks.is_null() && !disks.is_array()) reader.problem("disks", "is no list");
  MILLRACE_CHECK(reader.finish());
  for (const Json& item : disks) {
    JsonReader disk(item, source, "disks.");
    ProbedDisk probed;
    probed.folder = disk.text("folder", "");
    probed.mountPoint = disk.text("mount_point", "");
    probed.device = disk.text("device", "");
    probed.rates.read = readRate(disk, "read", source);
    probed.rates.write = readRate(disk, "write", source);
    MILLRACE_CHECK(disk.finish());
    report.disks.push_back(std::move(probed));
  }
  return report;
}

std::string formatWallTime(WallTime time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts = {};
  ::gmtime_r(&seconds, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::optional<WallTime> parseWallTime(const std::string& text) {
  std::tm parts = {};
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (!end || *end != '\0' || text.size() != 20) return std::nullopt;
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

std::string probeTable(const ProbeReport& report) {
  std::string table;
  const auto line = [&](const std::string& name, const std::string& value) {
    table += fmt::format("{:<24}  {}\n", name, value);
  };
  line("machine", fmt::format("{}: {}", report.machine.host, report.machine.processor));
  line("device", fmt::format("{}, {} threads", report.machine.device, report.machine.threads));
  line("measured at", report.measuredAt);
  ProbeReport copy = report;
  for (const NamedRate& named : namedRates) {
    const Rate& rate = named.of(copy);
    if (rate.known() || std::string_view(named.key) != "gemm_tf32") // not every device has it
      line(named.label, describe(rate, named.unit));
  }
  for (const ProbedDisk& disk : report.disks) {
    const std::string name = disk.device.empty() ? disk.mountPoint : disk.device;
    line("disk", fmt::format("{}{}", disk.folder, name.empty() ? "" : fmt::format(" ({})", name)));
    line("  read", describe(disk.rates.read, Unit::Bytes));
    line("  write", describe(disk.rates.write, Unit::Bytes));
  }
  if (report.seconds > 0)
    line("took", fmt::format("{:.1f} s, at most {}", report.seconds, formatBytes(report.peakMemory)));
  return table;
}

std::string toJson(const ProbeReport& report) {
  Json json = ratesToJson(report);
  json["notes"] = report.notes;
  json["failed"] = report.failed;
  json["peak_bytes"] = report.peakMemory;
  json["seconds"] = report.seconds;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

} // namespace millrace
