#include "engine/bench.h"

#include "api/bench_machine.h"
#include "api/inference_engine.h"
#include "probe/memory_rates.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace {

Result<BenchOptimizerReport> benchOptimizer(const ComputeOptions& options, std::int64_t parameters, int rounds) {
  if (parameters < 1 || rounds < 1) return badInput("parameters and rounds: expected 1 or more of each");
  ComputeOptions host = options;
  host.device = "cpu"; // AdamW on the host is what is measured
  MILLRACE_TRY(const ComputeLimits limits, computeLimits(host));
  if (parameters > limits.host / 20)
    return failure(ErrorKind::DoesNotFit,
                   fmt::format("{} parameters take {} and {} can be taken; choose fewer", parameters,
                               formatBytes(parameters * 20), formatBytes(limits.host)));
  ThreadPool pool(limits.threads);
  MILLRACE_TRY(const AdamWRates rates, measureAdamW(pool, parameters, rounds));
  BenchOptimizerReport report;
  report.machine = benchMachineOf(limits.profile, limits.threads);
  report.machine.instructionSet = rates.instructionSet;
  report.parameters = rates.parameters;
  constexpr auto width = adamWTraffic;
  report.trafficBytesPerSecond = width * rates.traffic;
  report.fp32ParametersPerSecond = rates.fp32;
  report.fp32BytesPerSecond = width * rates.fp32;
  report.fp32Share = rates.fp32Share;
  report.splitParametersPerSecond = rates.split;
  report.splitBytesPerSecond = width * rates.split;
  report.splitShare = rates.splitShare;
  return report;
}

Result<BenchCopyReport> benchCopy(const ComputeOptions& options, Bytes bytes, int rounds) {
  if (bytes < 1 || rounds < 1) return badInput("bytes and rounds: expected 1 or more of each");
  MILLRACE_TRY(const ComputeLimits limits, computeLimits(options));
  if (bytes > std::min(limits.host, limits.device) / 4)
    return failure(ErrorKind::DoesNotFit,
                   fmt::format("copies of {} take {} and {} can be taken; choose smaller ones", formatBytes(bytes),
                               formatBytes(4 * bytes), formatBytes(std::min(limits.host, limits.device))));
  try {
    ThreadPool pool(limits.threads);
    MILLRACE_TRY(const auto device, openDevice(limits, pool, 2 * bytes, 2 * bytes));
    MILLRACE_TRY(const CopyRates rates, measureCopies(*device, bytes, rounds));
    BenchCopyReport report;
    report.machine = benchMachineOf(limits.profile, limits.threads);
    report.device = device->name();
    report.bytes = rates.bytes;
    report.inBytesPerSecond = rates.in;
    report.outBytesPerSecond = rates.out;
    report.bothBytesPerSecond = rates.both;
    return report;
  } catch (const EngineException& problem) {
    return tl::unexpected<Error>(problem.error());
  }
}

std::string toJson(const BenchOptimizerReport& report) {
  Json json;
  json["machine"] = toJson(report.machine);
  json["parameters"] = report.parameters;
  json["bytes_per_parameter"] = static_cast<Bytes>(adamWTraffic);
  json["traffic_bytes_per_second"] = report.trafficBytesPerSecond;
  json["adamw_fp32"] = {{"parameters_per_second", report.fp32ParametersPerSecond},
                        {"bytes_per_second", report.fp32BytesPerSecond},
                        {"share_of_traffic", report.fp32Share}};
  json["adamw_split"] = {{"parameters_per_second", report.splitParametersPerSecond},
                         {"bytes_per_second", report.splitBytesPerSecond},
                         {"share_of_traffic", report.splitShare}};
  return json.dump(2);
}

std::string toJson(const BenchCopyReport& report) {
  Json json;
  json["machine"] = toJson(report.machine);
  json["device"] = report.device;
  json["bytes"] = report.bytes;
  json["in_bytes_per_second"] = report.inBytesPerSecond;
  json["out_bytes_per_second"] = report.outBytesPerSecond;
  json["both_bytes_per_second"] = report.bothBytesPerSecond;
  return json.dump(2);
}

} // namespace millrace
