#include "compute_options.h"

#include "engine/hardware.h"

namespace millrace::cli {

void addComputeOptions(CLI::App& command, ComputeCommandOptions& options) {
  command
      .add_option("MODEL", options.model,
                  "A checkpoint, a run (its newest good checkpoint), or a Hugging Face model folder")
      ->required();
  command.add_flag("--best", options.best, "Of a run: the checkpoint with the lowest validation loss");
  command.add_option("--step", options.step, "Of a run: the checkpoint of this step")
      ->option_text("N")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--device", options.device, "What computes: auto, cpu or cuda:N")->option_text("auto|cpu|cuda:N");
  command.add_option("--precision", options.precision, "fp32 or bf16; default: fp32")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  command.add_option("--vram-limit", options.vramLimit, "Device memory to use at most; default: what is free")
      ->option_text("SIZE");
  command.add_option("--ram-limit", options.ramLimit, "Host memory to use at most; default: what is free")
      ->option_text("SIZE");
  command.add_option("--threads", options.threads, "Default: the usable cores")
      ->option_text("N")
      ->check(CLI::Range(0, 4096));
}

ModelChoice modelChoice(const ComputeCommandOptions& options) {
  ModelChoice choice{options.model, options.best ? CheckpointChoice::Best : CheckpointChoice::Latest};
  if (options.step >= 0) choice.step = options.step;
  return choice;
}

Result<ComputeOptions> computeOptions(const ComputeCommandOptions& options) {
  MILLRACE_CHECK(checkDevice(options.device, "--device"));
  ComputeOptions compute;
  compute.device = options.device;
  compute.threads = options.threads;
  compute.precision = options.precision == "bf16" ? Precision::Bf16 : Precision::Fp32;
  for (const auto& [text, bytes, name] : {std::tuple(&options.vramLimit, &compute.deviceLimit, "--vram-limit"),
                                          std::tuple(&options.ramLimit, &compute.hostLimit, "--ram-limit")}) {
    if (text->empty()) continue;
    const auto parsed = parseBytes(*text);
    if (!parsed) return badInput(std::string(name) + ": " + parsed.error().message);
    *bytes = *parsed;
  }
  return compute;
}

} // namespace millrace::cli
