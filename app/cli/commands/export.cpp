#include "export.h"

#include "engine/export.h"
#include "progress.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {

namespace {

struct ExportCommandOptions {
  std::string model;
  std::string folder;
  std::string type = "fp32";
  std::string shardSize;
  bool best = false;
  std::int64_t step = -1; ///< none
  bool json = false;
};

Result<int> exportTo(Program& program, const ExportCommandOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  ExportOptions how;
  if (options.type == "bf16") how.type = ExportType::Bf16;
  if (options.type == "fp16") how.type = ExportType::Fp16;
  if (!options.shardSize.empty()) {
    const auto bytes = parseBytes(options.shardSize);
    if (!bytes) return badInput("--shard-size: " + bytes.error().message);
    how.maxShardBytes = *bytes;
  }
  Progress progress(console);
  how.progress = [&](Bytes doneBytes, Bytes total) {
    progress.update("writing", Progress::Unit::Bytes, doneBytes, total);
    return true;
  };
  ModelChoice choice{options.model, options.best ? CheckpointChoice::Best : CheckpointChoice::Latest};
  if (options.step >= 0) choice.step = options.step;
  MILLRACE_TRY(const ExportedModel exported, exportModel(program.files, choice, options.folder, how));
  if (options.json) {
    nlohmann::ordered_json json = {{"folder", exported.folder.string()},
                                   {"parameters", exported.parameters},
                                   {"bytes", exported.bytes},
                                   {"files", exported.files},
                                   {"step", nullptr},
                                   {"warnings", exported.warnings}};
    if (exported.step) json["step"] = *exported.step;
    console.result(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    return done;
  }
  for (const std::string& warning : exported.warnings) console.warning(warning);
  console.line(fmt::format("{}: {} parameters, {} in {} files{}", exported.folder.string(),
                           formatCount(exported.parameters), formatBytes(exported.bytes), exported.files.size(),
                           exported.step ? fmt::format(", of step {}", formatCount(*exported.step)) : ""));
  return done;
}

} // namespace

void addExport(CLI::App& app, Program& program) {
  const auto [command, options] = addCommand(
      app, program, "export", "Write a trained model as a Hugging Face folder, also while its run is training",
      "millrace export ~/.local/share/millrace/runs/quickstart quickstart-model --type bf16", &exportTo);
  command->add_option("MODEL", options->model, "A checkpoint, a run, or a Hugging Face model folder")->required();
  command->add_option("FOLDER", options->folder, "The folder to make")->required();
  command->add_option("--type", options->type, "Of the tensors: fp32, bf16 or fp16; default: fp32")
      ->check(CLI::IsMember({"fp32", "bf16", "fp16"}));
  command->add_option("--shard-size", options->shardSize, "Tensor bytes in one file, at most; default: 5GB")
      ->option_text("SIZE");
  command->add_flag("--best", options->best, "Of a run: the checkpoint with the lowest validation loss");
  command->add_option("--step", options->step, "Of a run: the checkpoint of this step")
      ->option_text("N")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 62));
  command->add_flag("--json", options->json, "Print what was written as JSON");
}

} // namespace millrace::cli
