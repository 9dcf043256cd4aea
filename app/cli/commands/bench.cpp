#include "bench.h"

#include "bench_nvme.h"
#include "bench_step.h"
#include "checks.h"
#include "engine/bench.h"
#include "engine/hardware.h"
#include "engine/probe.h"
#include "stop_signals.h"

#include <atomic>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace millrace::cli {

namespace {

std::string perSecond(double bytes) {
  return formatBytes(static_cast<Bytes>(bytes)) + "/s";
}

struct MachineOptions {
  ComputeOptions compute;
  std::int64_t parameters = 64'000'000;
  std::string size;
  int rounds = 9;
  bool json = false;
};

Result<int> optimizer(Program& program, const MachineOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  MILLRACE_TRY(const BenchOptimizerReport report, benchOptimizer(options.compute, options.parameters, options.rounds));
  if (options.json) {
    console.result(toJson(report));
    return done;
  }
  console.line(describeMachine(report.machine));
  console.line(fmt::format("a loop that only reads 16 and writes 12 bytes a parameter: {}",
                           perSecond(report.trafficBytesPerSecond)));
  console.line(fmt::format("AdamW, fp32 weights: {} million parameters/s, {}, {:.1f}% of that loop",
                           formatCount(static_cast<std::int64_t>(report.fp32ParametersPerSecond / 1e6)),
                           perSecond(report.fp32BytesPerSecond), 100 * report.fp32Share));
  console.line(fmt::format("AdamW, split weights: {} million parameters/s, {}, {:.1f}% of that loop",
                           formatCount(static_cast<std::int64_t>(report.splitParametersPerSecond / 1e6)),
                           perSecond(report.splitBytesPerSecond), 100 * report.splitShare));
  return done;
}

Result<int> copy(Program& program, const MachineOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  MILLRACE_CHECK(checkDevice(options.compute.device, "--device"));
  Bytes bytes = 256 * MiB;
  if (!options.size.empty()) {
    const auto parsed = parseBytes(options.size);
    if (!parsed) return badInput("--size: " + parsed.error().message);
    bytes = *parsed;
  }
  MILLRACE_TRY(const BenchCopyReport report, benchCopy(options.compute, bytes, options.rounds));
  if (options.json) {
    console.result(toJson(report));
    return done;
  }
  console.line(describeMachine(report.machine));
  console.line(fmt::format("{}: {} in, {} out, {} both ways at once, pieces of {}", report.device,
                           perSecond(report.inBytesPerSecond), perSecond(report.outBytesPerSecond),
                           perSecond(report.bothBytesPerSecond), formatBytes(report.bytes)));
  return done;
}

struct ProbeCommandOptions {
  std::string device = "auto";
  int threads = 0;
  double seconds = 1;
  std::string disk;
  std::string cache;
  bool json = false;
};

Result<int> machine(Program& program, const ProbeCommandOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  const Path cache = options.cache.empty() ? ratesCacheFile() : Path(options.cache);
  // A file that somebody named is not touched unless it is what belongs there: told before half a minute has passed.
  if (!options.cache.empty()) MILLRACE_CHECK(checkRatesCache(program.files, cache));
  StopSignals signals;
  std::atomic<bool> stopped = false;
  signals.deliver([&] { stopped = true; });
  ProbeOptions probe;
  MILLRACE_CHECK(checkDevice(options.device, "--device"));
  probe.compute.device = options.device;
  probe.compute.threads = options.threads;
  probe.seconds = options.seconds;
  probe.disk = options.disk;
  probe.progress = [&](const ProbeProgress& progress) {
    console.progress(fmt::format("measuring {} ({} of {})", progress.part, progress.done + 1, progress.parts));
    return !stopped;
  };
  MILLRACE_TRY(const ProbeReport report, probeMachine(program.files, probe));
  console.endProgress();
  if (options.json) {
    console.result(toJson(report));
  } else {
    std::string table = probeTable(report);
    while (table.ends_with('\n')) table.pop_back();
    console.line(table);
  }
  for (const std::string& note : report.notes) console.warning(note);
  MILLRACE_TRY(const std::string notice, cacheRates(program.files, cache, report));
  if (!notice.empty()) console.warning(notice);
  if (!options.json && !cache.empty()) console.line(fmt::format("kept in {}", cache.string()));
  if (report.failed.empty()) return done;
  return failed(fmt::format("not measured: {}; figures of an earlier time stay", fmt::join(report.failed, ", ")));
}

void addDeviceOption(CLI::App& command, std::string& device) {
  command.add_option("--device", device, "What is measured: auto, cpu or cuda:N")->option_text("auto|cpu|cuda:N");
}

void addMachineOptions(CLI::App& command, MachineOptions& options) {
  command.add_option("--threads", options.compute.threads, "Default: the usable cores")
      ->option_text("N")
      ->check(CLI::Range(0, 4096));
  command.add_option("--rounds", options.rounds, "The median of so many is shown; default: 9")
      ->option_text("N")
      ->check(CLI::Range(1, 1000));
  command.add_flag("--json", options.json, "Print JSON");
}

} // namespace

void addBench(CLI::App& app, Program& program) {
  CLI::App* const group = app.add_subcommand("bench", "Measure this machine, and the engine on it");
  group->require_subcommand(1);
  group->footer("Example:\n  millrace bench step projects/quickstart.json");
  addBenchStep(*group, program);
  addBenchNvme(*group, program);
  const auto [machineCommand, probeOptions] = addCommand(
      *group, program, "machine",
      "Measure what plans are predicted from, in under half a minute, and keep it: copies, memory, AdamW, matrix "
      "products, a disk",
      "millrace bench machine --disk /mnt/nvme", &machine);
  machineCommand->add_option("--disk", probeOptions->disk, "A folder on the disk to measure, writing 4 GiB at most")
      ->option_text("DIR");
  addDeviceOption(*machineCommand, probeOptions->device);
  machineCommand->add_option("--threads", probeOptions->threads, "Default: the usable cores")
      ->option_text("N")
      ->check(CLI::Range(0, 4096));
  machineCommand->add_option("--seconds", probeOptions->seconds, "About so long for each figure; default: 1")
      ->option_text("S")
      ->transform(numberFrom(1e-3, 60));
  machineCommand
      ->add_option("--cache", probeOptions->cache,
                   "Where the figures are kept; default: millrace/rates.json in $XDG_CACHE_HOME or ~/.cache")
      ->option_text("FILE");
  machineCommand->add_flag("--json", probeOptions->json, "Print JSON");
  const auto [optimizerCommand, optimizerOptions] =
      addCommand(*group, program, "optimizer", "Time AdamW on the host against the memory traffic that it must have",
                 "millrace bench optimizer --json", &optimizer);
  addMachineOptions(*optimizerCommand, *optimizerOptions);
  optimizerCommand->add_option("--parameters", optimizerOptions->parameters, "Takes 20 bytes each; default: 64000000")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  const auto [copyCommand, copyOptions] = addCommand(
      *group, program, "copy", "Time copies between host and device memory", "millrace bench copy --size 1GiB", &copy);
  addMachineOptions(*copyCommand, *copyOptions);
  addDeviceOption(*copyCommand, copyOptions->compute.device);
  copyCommand->add_option("--size", copyOptions->size, "Of a copy; takes four times as much; default: 256MiB")
      ->option_text("SIZE");
}

} // namespace millrace::cli
