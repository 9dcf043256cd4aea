#include "engine/step_metrics.h"

#include "base/json_number.h"
#include "run/metrics_json.h"

#include <fmt/format.h>
#include <utility>

namespace millrace {

namespace {

/// Key and member of each.
constexpr std::pair<const char*, std::optional<double> GpuMetrics::*> gpuKeys[] = {
    {"utilization", &GpuMetrics::utilization}, {"power_watts", &GpuMetrics::powerWatts},
    {"temperature", &GpuMetrics::temperature}, {"memory_used", &GpuMetrics::memoryUsed},
    {"link_in", &GpuMetrics::linkIn},          {"link_out", &GpuMetrics::linkOut}};

class StepReader {
 public:
  StepReader(const Json& json, const std::string& source, const std::string& prefix = "")
      : m_reader(json, source, prefix) {}

  void read(const std::string& key, std::int64_t& value) { value = m_reader.integer(key, value, INT64_MIN, INT64_MAX); }
  void read(const std::string& key, bool& value) { value = m_reader.boolean(key, value); }
  void read(const std::string& key, std::string& value) { value = m_reader.text(key, value); }
  void read(const std::string& key, double& value) {
    if (!m_reader.has(key)) return;
    if (const auto number = numberFromJson(m_reader.value(key)))
      value = *number;
    else
      m_reader.problem(key, R"(is not a number, expected one, or "nan", "inf" or "-inf")");
  }
  JsonReader& reader() { return m_reader; }
  Status status() const { return m_reader.status(); }

 private:
  JsonReader m_reader;
};

} // namespace

Json metricsToJson(const StepMetrics& metrics) {
  Json json;
  json["step"] = metrics.step;
  json["total_steps"] = metrics.totalSteps;
  json["time"] = numberToJson(metrics.time);
  json["loss"] = numberToJson(metrics.loss);
  json["grad_norm"] = numberToJson(metrics.gradNorm);
  json["learning_rate"] = numberToJson(metrics.learningRate);
  json["tokens"] = metrics.tokens;
  json["tokens_total"] = metrics.tokensTotal;
  json["unmasked_targets"] = metrics.unmaskedTargets;
  json["seconds"] = numberToJson(metrics.seconds);
  json["tokens_per_second"] = numberToJson(metrics.tokensPerSecond);
  json["clip_factor"] = numberToJson(metrics.clipFactor);
  json["discarded"] = metrics.discarded;
  json["forward_seconds"] = numberToJson(metrics.forwardSeconds);
  json["backward_seconds"] = numberToJson(metrics.backwardSeconds);
  json["optimizer_seconds"] = numberToJson(metrics.optimizerSeconds);
  json["bound_seconds"] = numberToJson(metrics.boundSeconds);
  json["predicted_seconds"] = numberToJson(metrics.predictedSeconds);
  json["links"] = Json::array();
  for (const LinkMetrics& link : metrics.links)
    json["links"].push_back({{"name", link.name},
                             {"bytes_in", link.bytesIn},
                             {"bytes_out", link.bytesOut},
                             {"seconds_in", numberToJson(link.secondsIn)},
                             {"seconds_out", numberToJson(link.secondsOut)},
                             {"peak_in", numberToJson(link.peakIn)},
                             {"peak_out", numberToJson(link.peakOut)}});
  json["stalls"] = {{"weights", numberToJson(metrics.stalls.waitWeights)},
                    {"optimizer", numberToJson(metrics.stalls.waitOptimizer)},
                    {"copy_out", numberToJson(metrics.stalls.waitCopyOut)},
                    {"data", numberToJson(metrics.stalls.waitData)}};
  json["peak"] = {{"device", metrics.peak.device}, {"host", metrics.peak.host}};
  json["planned"] = {{"device", metrics.planned.device}, {"host", metrics.planned.host}};
  for (const double passes : metrics.passes) json["passes"].push_back(numberToJson(passes));
  if (metrics.gpu) {
    json["gpu"] = Json::object();
    for (const auto& [key, member] : gpuKeys)
      if (const auto& value = (*metrics.gpu).*member) json["gpu"][key] = numberToJson(*value);
  }
  if (metrics.drives)
    json["drives"] = {{"written_per_day", numberToJson(metrics.drives->writtenPerDay)},
                      {"life_years", numberToJson(metrics.drives->lifeYears)},
                      {"rating_assumed", metrics.drives->ratingAssumed}};
  return json;
}

Result<StepMetrics> metricsFromJson(const Json& json, const std::string& source) {
  StepReader reader(json, source);
  if (!reader.reader().has("step")) reader.reader().problem("step", "is missing");
  StepMetrics metrics;
  reader.read("step", metrics.step);
  reader.read("total_steps", metrics.totalSteps);
  reader.read("time", metrics.time);
  reader.read("loss", metrics.loss);
  reader.read("grad_norm", metrics.gradNorm);
  reader.read("learning_rate", metrics.learningRate);
  reader.read("tokens", metrics.tokens);
  reader.read("tokens_total", metrics.tokensTotal);
  reader.read("unmasked_targets", metrics.unmaskedTargets);
  reader.read("seconds", metrics.seconds);
  reader.read("tokens_per_second", metrics.tokensPerSecond);
  reader.read("clip_factor", metrics.clipFactor);
  reader.read("discarded", metrics.discarded);
  reader.read("forward_seconds", metrics.forwardSeconds);
  reader.read("backward_seconds", metrics.backwardSeconds);
  reader.read("optimizer_seconds", metrics.optimizerSeconds);
  reader.read("bound_seconds", metrics.boundSeconds);
  reader.read("predicted_seconds", metrics.predictedSeconds);
  const Json& links = reader.reader().value("links");
  if (!links.is_null() && !links.is_array()) reader.reader().problem("links", "is not a list");
  for (std::size_t i = 0; links.is_array() && i < links.size(); ++i) {
    StepReader entry(links[i], source, fmt::format("links[{}].", i));
    LinkMetrics link;
    entry.read("name", link.name);
    entry.read("bytes_in", link.bytesIn);
    entry.read("bytes_out", link.bytesOut);
    entry.read("seconds_in", link.secondsIn);
    entry.read("seconds_out", link.secondsOut);
    entry.read("peak_in", link.peakIn);
    entry.read("peak_out", link.peakOut);
    MILLRACE_CHECK(entry.status());
    metrics.links.push_back(std::move(link));
  }
  StepReader stalls(reader.reader().object("stalls"), source, "stalls.");
  stalls.read("weights", metrics.stalls.waitWeights);
  stalls.read("optimizer", metrics.stalls.waitOptimizer);
  stalls.read("copy_out", metrics.stalls.waitCopyOut);
  stalls.read("data", metrics.stalls.waitData);
  MILLRACE_CHECK(stalls.status());
  for (const auto& [key, memory] : {std::pair{"peak", &metrics.peak}, std::pair{"planned", &metrics.planned}}) {
    StepReader tiers(reader.reader().object(key), source, std::string(key) + ".");
    tiers.read("device", memory->device);
    tiers.read("host", memory->host);
    MILLRACE_CHECK(tiers.status());
  }
  const Json& passes = reader.reader().value("passes");
  if (!passes.is_null() && !passes.is_array()) reader.reader().problem("passes", "is not a list");
  for (std::size_t i = 0; passes.is_array() && i < passes.size(); ++i) {
    const auto number = numberFromJson(passes[i]);
    if (!number) reader.reader().problem("passes", "holds something that is no number");
    metrics.passes.push_back(number.value_or(0));
  }
  if (reader.reader().has("gpu")) {
    StepReader gpu(reader.reader().object("gpu"), source, "gpu.");
    metrics.gpu.emplace();
    for (const auto& [key, member] : gpuKeys) {
      if (!gpu.reader().has(key)) continue;
      double value = 0;
      gpu.read(key, value);
      (*metrics.gpu).*member = value;
    }
    MILLRACE_CHECK(gpu.status());
  }
  if (reader.reader().has("drives")) {
    StepReader drives(reader.reader().object("drives"), source, "drives.");
    metrics.drives.emplace();
    drives.read("written_per_day", metrics.drives->writtenPerDay);
    drives.read("life_years", metrics.drives->lifeYears);
    drives.read("rating_assumed", metrics.drives->ratingAssumed);
    MILLRACE_CHECK(drives.status());
  }
  MILLRACE_CHECK(reader.status());
  return metrics;
}

std::string toLine(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string toJson(const StepMetrics& metrics) {
  return toLine(metricsToJson(metrics));
}

Result<StepMetrics> stepMetricsFromJson(std::string_view line, const std::string& source) {
  MILLRACE_TRY(const Json json, parseJson(line, source));
  return metricsFromJson(json, source);
}

} // namespace millrace
