#include "bench_step.h"

#include "checks.h"
#include "engine/hardware.h"
#include "model_source.h"
#include "progress.h"
#include "project_options.h"

#include <algorithm>
#include <fmt/format.h>

namespace millrace::cli {

namespace {

struct StepOptions {
  ProjectOptions project;
  std::string model;
  std::int64_t tokens = 0;
  std::string vramLimit, linkLimit;
  int threads = 0;
  bool aliasLayers = false;
  BenchStepOptions bench;
  bool json = false;
};

/// The options that stand for settings come last: they hold.
ProjectOptions withSettings(const StepOptions& options) {
  ProjectOptions project = options.project;
  if (!options.model.empty()) takeProjectForSetting(project);
  if (!options.vramLimit.empty()) project.moreSettings.push_back("memory.vram_limit=" + options.vramLimit);
  if (options.threads > 0) project.moreSettings.push_back(fmt::format("training.threads={}", options.threads));
  return project;
}

Result<Project> chosenProject(Program& program, const StepOptions& options) {
  const ProjectOptions project = withSettings(options);
  if (project.project.empty() == options.model.empty())
    return badInput("give a project file or --model: what is to be timed?");
  if (options.model.empty()) {
    if (options.tokens > 0) return badInput("--tokens goes with --model: the project says how many a step has");
    return readProject(program, project);
  }
  if (options.tokens == 0) return badInput("--model needs --tokens: how many has a step?");
  MILLRACE_TRY(const ModelSource model, modelSource(program.files, options.model));
  return benchProject(program.files, Path(options.model).filename().string(), model, options.tokens,
                      settingsOf(project));
}

void print(Console& console, const BenchStepReport& report) {
  console.line(describeMachine(report.machine));
  for (const std::string& note : report.notes) console.line(note);
  console.line(fmt::format("{}: {} parameters, {} layers of which {} streamed, {}, clip {}, recompute {}, groups of {}",
                           report.project, formatCount(report.parameters), report.layers, report.streamedLayers,
                           report.precision, report.clip, report.recompute, report.group));
  if (report.heldLayers > 0)
    console.line(fmt::format("gradients of {} layers wait for the next forward", report.heldLayers));
  if (report.updatedOnDevice > 0)
    console.line(fmt::format("of what is in host memory the device updates {:.1f}%", 100 * report.updatedOnDevice));
  console.line(
      fmt::format("step of {} tokens: {:.4f} s, {:.0f} tokens/s; forward {:.4f} s, backward {:.4f} s, optimizer "
                  "(beside them) {:.4f} s",
                  formatCount(report.tokens), report.seconds, report.tokensPerSecond, report.forwardSeconds,
                  report.backwardSeconds, report.optimizerSeconds));
  console.line(fmt::format("its matrix products alone: {:.4f} s, {:.1f} GFLOP/s: {:.1f}% of the step",
                           report.productSeconds, report.productFlops / std::max(report.productSeconds, 1e-12) / 1e9,
                           100 * report.productShare));
  console.line(fmt::format("model {:.1f} GFLOP/s, hardware {:.1f} GFLOP/s; {:.2f} times the bound of {:.4f} s at {} "
                           "rates",
                           report.modelFlops / report.seconds / 1e9, report.hardwareFlops / report.seconds / 1e9,
                           report.seconds / report.boundSeconds, report.boundSeconds,
                           report.ratesMeasured ? "measured" : "assumed"));
  console.line(fmt::format("copied in {} in {:.4f} s, out {} in {:.4f} s; peak {} of device, {} of host memory",
                           formatBytes(report.bytesIn), report.copyInSeconds, formatBytes(report.bytesOut),
                           report.copyOutSeconds, formatBytes(report.devicePeak), formatBytes(report.hostPeak)));
  if (report.diskBytes > 0)
    console.line(
        fmt::format("on disk {}: {} layers, of {} more what AdamW alone needs; read {} in {:.4f} s, written {} "
                    "in {:.4f} s a step",
                    formatBytes(report.diskBytes), report.onDisk, report.momentsOnDisk, formatBytes(report.diskRead),
                    report.diskReadSeconds, formatBytes(report.diskWritten), report.diskWriteSeconds));
  for (const BenchStepReport::Stall& stall : report.stalls)
    if (stall.seconds > 0) console.line(fmt::format("waited for {}: {:.4f} s", stall.cause, stall.seconds));
}

Result<int> step(Program& program, const StepOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  MILLRACE_TRY(const Project project, chosenProject(program, options));
  const std::string source = options.model.empty() ? options.project.project : options.model;
  MILLRACE_CHECK(checkDevice(project.training.device, source + ": training.device"));
  BenchStepOptions bench = options.bench;
  if (options.aliasLayers && bench.aliasSets == 0) bench.aliasSets = 4;
  if (!options.linkLimit.empty()) {
    const auto bytes = parseBytes(options.linkLimit);
    if (!bytes) return badInput("--link-limit: " + bytes.error().message);
    if (*bytes == 0) return badInput("--link-limit: is 0, expected bytes a second each way, such as 25GB");
    bench.linkLimit = static_cast<double>(*bytes);
  }
  Progress progress(console);
  bench.progress = [&](int doneRounds, int rounds) {
    progress.update("measuring rounds", Progress::Unit::Count, doneRounds, rounds);
    return true;
  };
  MILLRACE_TRY(const BenchStepReport report, benchStep(program.files, project, source, bench));
  if (options.json)
    console.result(toJson(report));
  else
    print(console, report);
  return done;
}

} // namespace

std::string describeMachine(const BenchMachine& machine) {
  return fmt::format("{}, {} of {} cores, {}, {} of memory", machine.processor, machine.threads, machine.cores,
                     machine.instructionSet, formatBytes(machine.memory));
}

void addBenchStep(CLI::App& group, Program& program) {
  const auto [command, options] =
      addCommand(group, program, "step",
                 "Time the training step of a project or of a model alone, and its matrix products alone, on random "
                 "tokens and weights. Reads no data",
                 "millrace bench step projects/quickstart.json --rounds 5\n"
                 "  millrace bench step --model qwen2.5-7b --tokens 65536 --vram-limit 24GiB --json",
                 &step);
  addProjectOptions(*command, options->project, true);
  command->add_option("--model", options->model, "A model folder, or one of these: " + presetNames())
      ->option_text("PRESET|DIR");
  command->add_option("--tokens", options->tokens, "Of a step, with --model: a multiple of 1024")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  command->add_option("--vram-limit", options->vramLimit, "Device memory to use at most; default: what is free")
      ->option_text("SIZE");
  command
      ->add_option("--link-limit", options->linkLimit,
                   "Bytes a second each way between host and GPU, as over a slower link: 25GB")
      ->option_text("SIZE");
  command->add_option("--threads", options->threads, "Default: the usable cores")
      ->option_text("N")
      ->check(CLI::Range(0, 4096));
  command->add_option("--isa", options->bench.isa, "Instructions of AdamW on the host: auto, scalar, avx2, avx512")
      ->check(CLI::IsMember({"auto", "scalar", "avx2", "avx512"}));
  command
      ->add_option(
          "--device-updates", options->bench.deviceUpdates,
          "Of what is in host memory the share that the GPU updates; 0: all is left to the host. Default: what "
          "is fastest")
      ->option_text("SHARE")
      ->check(CLI::Range(0.0, 1.0));
  command->add_flag("--alias-layers", options->aliasLayers,
                    "Let all layers share four sets of buffers in host memory: times models that are larger than the "
                    "machine; what is computed means nothing");
  command->add_option("--rounds", options->bench.rounds, "The median of so many is shown; default: 3")
      ->option_text("N")
      ->check(CLI::Range(1, 1000));
  command->add_option("--steps", options->bench.stepsPerRound, "Steps in a round; default: 2")
      ->option_text("N")
      ->check(CLI::Range(1, 100000));
  command->add_flag("--json", options->json, "Print JSON");
}

} // namespace millrace::cli
