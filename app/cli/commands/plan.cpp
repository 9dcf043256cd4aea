#include "plan.h"

#include "checks.h"
#include "engine/machines.h"
#include "engine/model_presets.h"
#include "engine/plan.h"
#include "engine/runs.h"
#include "model_source.h"
#include "plan_table.h"
#include "project_options.h"
#include "sized_project.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {

namespace {

using OrderedJson = nlohmann::ordered_json;

struct PlanCommandOptions {
  ProjectOptions project;
  std::string model;
  double modelSize = 0;
  std::string machine;
  std::string vram, ram, nvme, endurance;
  int gpus = 0;
  double tokens = 0;
  double price = -1;
  bool rehearse = false;
  bool json = false;
};

OrderedJson toJson(const PlannedTier& tier) {
  OrderedJson categories = OrderedJson::object();
  for (const PlannedCategory& category : tier.categories) categories[category.name] = category.bytes;
  return {
      {"bytes", tier.needed},          {"limit", tier.limit}, {"limit_origin", tier.limitOrigin},   {"free", tier.free},
      {"used_by_others", tier.others}, {"fits", tier.fits()}, {"categories", std::move(categories)}};
}

OrderedJson toJson(const PlannedPlacement& placement) {
  return {{"recompute", placement.recompute},
          {"group", placement.group},
          {"slots", placement.slots},
          {"offload_activations", placement.offloadActivations},
          {"units",
           {{"streamed", placement.streamed},
            {"weights_on_device", placement.weightsOnDevice},
            {"on_device", placement.onDevice},
            {"moments_on_disk", placement.momentsOnDisk},
            {"on_disk", placement.onDisk}}},
          {"layers_held", placement.held},
          {"share_updated_on_device", placement.updatedOnDevice}};
}

OrderedJson toJson(const PlannedRun& run) {
  const auto known = [](double value) { return value > 0 ? OrderedJson(value) : OrderedJson(); };
  OrderedJson json = {{"tokens", known(run.tokens)},
                      {"seconds", known(run.seconds)},
                      {"checkpoint_pause_seconds", run.seconds > 0 ? OrderedJson(run.checkpointPauses) : OrderedJson()},
                      {"kwh", known(run.kilowattHours)},
                      {"cost", run.cost ? OrderedJson(*run.cost) : OrderedJson()},
                      {"checkpoint_bytes", run.checkpointBytes},
                      {"checkpoint_seconds", run.checkpointSeconds},
                      {"checkpoint_disk_bytes", run.checkpointDisk},
                      {"checkpoint_disk_free", run.checkpointFree ? OrderedJson(*run.checkpointFree) : OrderedJson()},
                      {"token_cache_bytes", run.tokenCacheBytes},
                      {"written_bytes_per_step", run.writtenPerStep},
                      {"written_bytes_per_day", run.writtenPerDay},
                      {"drive_written_bytes_per_day", run.wornPerDay},
                      {"drive_endurance_bytes", run.endurance},
                      {"drive_endurance_assumed", run.enduranceAssumed},
                      {"drive_years", known(run.driveYears)}};
  return json;
}

OrderedJson toJson(const PlanAdvice& advice) {
  OrderedJson changes = OrderedJson::array();
  for (const ProjectChange& change : advice.changes) changes.push_back({{"key", change.key}, {"value", change.value}});
  return {{"text", advice.text},
          {"changes", std::move(changes)},
          {"add_ram_bytes", advice.addRam},
          {"add_disk_bytes", advice.addDisk},
          {"verdict", toString(advice.verdict)},
          {"vram_bytes", advice.vram},
          {"ram_bytes", advice.ram},
          {"nvme_bytes", advice.nvme},
          {"tokens_per_second", advice.tokensPerSecond},
          {"tokens_per_second_more", advice.tokensPerSecondMore},
          {"terabytes_written_per_day", advice.terabytesPerDay}};
}

OrderedJson toJson(const PlanReport& report) {
  OrderedJson tiers = OrderedJson::object();
  for (const PlannedTier& tier : report.tiers) tiers[tier.name] = toJson(tier);
  OrderedJson resources = OrderedJson::object();
  for (const ResourceSeconds& resource : report.time.resources) resources[resource.name] = resource.seconds;
  OrderedJson advice = OrderedJson::array();
  for (const PlanAdvice& one : report.advice) advice.push_back(toJson(one));
  return {{"project", report.project},
          {"machine", report.machine},
          {"device", report.device},
          {"gpus", report.gpus},
          {"verdict", toString(report.verdict)},
          {"reasons", report.reasons},
          {"notes", report.notes},
          {"parameters", report.parameters},
          {"layers", report.layers},
          {"tokens_per_step", report.tokensPerStep},
          {"micro_batches", report.microBatches},
          {"precision", toString(report.precision)},
          {"clip", toString(report.clip)},
          {"state_bytes", report.stateBytes},
          {"peak_state_bytes", report.peakStateBytes},
          {"placement", toJson(report.placement)},
          {"tiers", std::move(tiers)},
          {"step_seconds", report.time.stepSeconds},
          {"bound_seconds", report.time.boundSeconds},
          {"tokens_per_second",
           {{"predicted", report.time.tokensPerSecond}, {"low", report.time.low}, {"high", report.time.high}}},
          {"rates", report.time.rehearsed  ? "rehearsed"
                    : report.time.measured ? "measured"
                                           : "assumed"},
          {"bottleneck", report.time.bottleneck},
          {"resource_seconds", std::move(resources)},
          {"compute_binds_from_tokens_per_step", report.time.computeBindsFrom},
          {"run", toJson(report.run)},
          {"largest",
           {{"context", report.largest.context},
            {"micro_batch", report.largest.microBatch},
            {"parameters", report.largest.parameters}}},
          {"advice", std::move(advice)}};
}

Result<std::optional<Bytes>> sizeOf(const std::string& text, const char* option) {
  if (text.empty()) return std::optional<Bytes>();
  const auto bytes = parseBytes(text);
  if (!bytes) return badInput(fmt::format("{}: {}", option, bytes.error().message));
  if (*bytes == 0) return badInput(fmt::format("{}: is 0, expected what there is of it", option));
  return std::optional<Bytes>(*bytes);
}

Result<Project> chosenProject(Program& program, PlanCommandOptions options, const HardwareProfile& machine) {
  const bool sized = options.modelSize != 0; // what is no number is told where it is used
  if (!options.model.empty() || sized) takeProjectForSetting(options.project);
  const int given = (options.project.project.empty() ? 0 : 1) + (options.model.empty() ? 0 : 1) + (sized ? 1 : 0);
  if (given != 1) return badInput("give one of a project file, --model and --model-size: what is to be planned?");
  if (!options.project.project.empty()) return readProject(program, options.project);
  const std::vector<std::string> settings = settingsOf(options.project);
  if (!options.model.empty()) {
    MILLRACE_TRY(const ModelSource model, modelSource(program.files, options.model));
    return projectOfModel(program.files, Path(options.model).filename().string(), model, machine, options.gpus,
                          settings);
  }
  MILLRACE_TRY(ModelConfig config, modelOfSize(options.modelSize));
  return projectOfModel(program.files, sizeName(options.modelSize), std::move(config), machine, options.gpus, settings);
}

Result<int> plan(Program& program, const PlanCommandOptions& options) {
  if (options.json) program.console.reserveOutput();
  PlanOptions question;
  MILLRACE_TRY(question.budgets.vram, sizeOf(options.vram, "--vram"));
  MILLRACE_TRY(question.budgets.ram, sizeOf(options.ram, "--ram"));
  MILLRACE_TRY(question.budgets.disk, sizeOf(options.nvme, "--nvme"));
  MILLRACE_TRY(const std::optional<Bytes> endurance, sizeOf(options.endurance, "--nvme-tbw"));
  question.nvme = question.budgets.disk.value_or(0) > 0;
  question.endurance = endurance.value_or(0);
  question.gpus = options.gpus;
  question.tokens = options.tokens;
  question.rehearse = options.rehearse;
  if (options.price >= 0) question.pricePerKilowattHour = options.price;

  HardwareProfile machine;
  std::vector<Path> folders;
  if (!options.machine.empty()) {
    MILLRACE_TRY(machine, findMachine(program.files, options.machine));
  } else {
    if (const auto runs = runsFolder()) folders.push_back(*runs);
    machine = inspectMachine(folders);
  }
  MILLRACE_TRY(const Project project, chosenProject(program, options, machine));
  if (const auto& drives = project.memory.nvme.directories; options.machine.empty() && !drives.empty()) {
    folders.insert(folders.end(), drives.begin(), drives.end()); // known only now
    machine = inspectMachine(folders);
  }
  const std::string source = options.project.project.empty() ? project.name : options.project.project;
  MILLRACE_TRY(const PlanReport report, planProject(program.files, project, source, machine, question));
  if (options.json)
    program.console.result(toJson(report).dump(2, ' ', false, OrderedJson::error_handler_t::replace));
  else
    printPlan(program.console, report);
  if (report.fits()) return done;
  return failure(ErrorKind::DoesNotFit, fmt::format("{}: {}", source, report.reasons.front()));
}

} // namespace

void addPlan(CLI::App& app, Program& program) {
  const auto [command, options] = addCommand(
      app, program, "plan",
      "Tell whether a project or a model fits, how fast it would train, and what would make it better. Reads no data. "
      "Exit status 3: it does not fit",
      "millrace plan projects/quickstart.json --set memory.vram_limit=8MiB\n"
      "  millrace plan --model llama-3-8b --machine rtx-4090 --ram 128GiB",
      &plan);
  addProjectOptions(*command, options->project, true);
  std::string machines;
  for (const std::string& name : machineNames()) machines += (machines.empty() ? "" : ", ") + name;
  command->add_option("--model", options->model, "Plan for a model folder, or one of these: " + presetNames())
      ->option_text("PRESET|DIR");
  command->add_option("--model-size", options->modelSize, "Plan for a model of so many parameters: 101e9")
      ->option_text("N")
      ->transform(numberFrom(leastModelSize, greatestModelSize));
  command
      ->add_option("--machine", options->machine,
                   "Plan for a machine that a file describes, or one of these: " + machines + "; default: this one")
      ->option_text("NAME|FILE")
      ->check(notEmpty("the name or the file of a machine"));
  command->add_option("--vram", options->vram, "Of each GPU, in place of what it has")->option_text("SIZE");
  command->add_option("--ram", options->ram, "Of the machine, in place of what it has; a part is left to others")
      ->option_text("SIZE");
  command->add_option("--gpus", options->gpus, "How many compute; default: one where the machine has one")
      ->option_text("N")
      ->check(CLI::Range(1, 64));
  command->add_option("--nvme", options->nvme, "Let state live on disk; its size, in place of what it has")
      ->option_text("SIZE");
  command->add_option("--nvme-tbw", options->endurance, "What the drives are rated to be written in their life: 1200TB")
      ->option_text("SIZE");
  command->add_option("--tokens", options->tokens, "To train on, in place of the project's length")
      ->option_text("N")
      ->transform(numberFrom(1, 1e18));
  command->add_option("--kwh-price", options->price, "Of a kilowatt-hour, for the cost")
      ->option_text("PRICE")
      ->transform(numberFrom(0, 1e6));
  command->add_flag("--rehearse", options->rehearse,
                    "Time a few layers of the model on this machine first: seconds, and more exact than rates");
  command->add_flag("--json", options->json, "Print JSON, sizes in bytes");
}

} // namespace millrace::cli
