#include "bench_nvme.h"

#include "bench_step.h"
#include "checks.h"
#include "engine/bench_nvme.h"
#include "stop_signals.h"

#include <atomic>
#include <fmt/format.h>

namespace millrace::cli {

namespace {

struct NvmeOptions {
  std::vector<std::string> directories;
  std::string bytes;
  BenchNvmeOptions bench;
  bool json = false;
};

/// As drives are sold: powers of ten.
std::string gigabytes(double bytesPerSecond) {
  return fmt::format("{:.2f} GB/s", bytesPerSecond / 1e9);
}

void print(Console& console, const BenchNvmeReport& report) {
  console.line(describeMachine(report.machine));
  console.line(fmt::format("{} of state by {}; requests of {}", formatBytes(report.bytes), report.io,
                           formatBytes(report.request)));
  console.line(fmt::format("read {}, write {}, both at once {}", gigabytes(report.read), gigabytes(report.write),
                           gigabytes(report.mixed)));
  console.line(fmt::format("read, AdamW and written back: {}, {:.1f}% of both at once; {} million parameters/s of {} "
                           "bytes on disk",
                           gigabytes(report.pipeline), 100 * report.pipelineShare,
                           formatCount(static_cast<std::int64_t>(report.parametersPerSecond / 1e6)),
                           report.stateBytes));
}

Result<int> nvme(Program& program, const NvmeOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  StopSignals signals;
  std::atomic<bool> stopped = false;
  signals.deliver([&] { stopped = true; });
  BenchNvmeOptions bench = options.bench;
  for (const std::string& directory : options.directories) bench.directories.emplace_back(directory);
  if (!options.bytes.empty()) {
    const auto bytes = parseBytes(options.bytes);
    if (!bytes) return badInput("--bytes: " + bytes.error().message);
    if (*bytes == 0) return badInput("--bytes: is 0, expected so much state, such as 16GiB");
    bench.bytes = *bytes;
  }
  bench.progress = [&](const std::string& part, int doneParts, int parts) {
    console.progress(fmt::format("{} ({} of {})", part, doneParts + 1, parts));
    return !stopped;
  };
  MILLRACE_TRY(const BenchNvmeReport report, benchNvme(program.files, bench));
  console.endProgress();
  if (options.json)
    console.result(toJson(report));
  else
    print(console, report);
  for (const std::string& note : report.notes) console.warning(note);
  return done;
}

} // namespace

void addBenchNvme(CLI::App& group, Program& program) {
  const auto [command, options] = addCommand(
      group, program, "nvme",
      "Time state on disk as training has it: reading, writing, both at once, and AdamW from the disk to the "
      "disk",
      "millrace bench nvme --dir /mnt/nvme0 --dir /mnt/nvme1 --bytes 64GiB", &nvme);
  command
      ->add_option(
          "--dir", options->directories,
          "A folder on the drive to measure; several drives are used together. Writes for as long as it measures")
      ->option_text("DIR")
      ->required()
      ->check(notEmpty("a folder"));
  command->add_option("--bytes", options->bytes, "Of state, 480 MiB at least; default: 4GiB")->option_text("SIZE");
  command->add_option("--seconds", options->bench.seconds, "Of each of four measurements; default: 5")
      ->option_text("S")
      ->transform(numberFrom(1e-3, 3600));
  command->add_option("--io", options->bench.io, "Default: auto, io_uring where the system allows it")
      ->check(CLI::IsMember({"auto", "uring", "threads"}));
  command->add_option("--threads", options->bench.threads, "Of AdamW and of checksums; default: the usable cores")
      ->option_text("N")
      ->check(CLI::Range(0, 4096));
  command->add_flag("--json", options->json, "Print JSON");
}

} // namespace millrace::cli
