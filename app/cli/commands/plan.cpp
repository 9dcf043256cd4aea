#include "plan.h"

#include "engine/plan.h"
#include "project_options.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace millrace::cli {

namespace {

using OrderedJson = nlohmann::ordered_json;

struct PlanOptions {
  ProjectOptions project;
  bool json = false;
};

OrderedJson toJson(const PlanReport& report) {
  OrderedJson tiers = OrderedJson::array();
  for (const PlannedTier& tier : report.tiers) {
    OrderedJson categories = OrderedJson::object();
    for (const PlannedCategory& category : tier.categories) categories[category.name] = category.bytes;
    tiers.push_back({{"tier", tier.name},
                     {"bytes", tier.needed},
                     {"limit", tier.limit},
                     {"limit_origin", tier.limitOrigin},
                     {"fits", tier.fits()},
                     {"categories", std::move(categories)}});
  }
  OrderedJson json = {{"project", report.project},
                      {"verdict", report.fits ? "fits" : "does_not_fit"},
                      {"parameters", report.parameters},
                      {"layers", report.layers},
                      {"tokens_per_step", report.tokensPerStep},
                      {"micro_batches", report.microBatches},
                      {"precision", toString(report.precision)},
                      {"clip", toString(report.clip)},
                      {"recompute", report.recompute},
                      {"group", report.group},
                      {"slots", report.slots},
                      {"offload_activations", report.offloadActivations},
                      {"units",
                       {{"streamed", report.streamedUnits},
                        {"weights_on_device", report.weightsOnDeviceUnits},
                        {"on_device", report.onDeviceUnits}}},
                      {"tiers", std::move(tiers)}};
  if (!report.fits) json["shortfall"] = report.shortfall;
  return json;
}

void print(Console& console, const PlanReport& report) {
  console.line(fmt::format("{}: {}", report.project, report.fits ? "fits" : "does not fit"));
  console.line(fmt::format("  {} parameters in {} layers, {}, clip {}; {} tokens a step in {} micro-batches",
                           formatCount(report.parameters), report.layers, toString(report.precision),
                           toString(report.clip), formatCount(report.tokensPerStep), report.microBatches));
  console.line(fmt::format("  groups of {}, recompute {}, {} slots, activations {}", report.group, report.recompute,
                           report.slots,
                           report.offloadActivations ? "offloaded to host memory" : "kept on the device"));
  console.line(fmt::format("  layers and head: {} streamed, {} with weights on the device, {} wholly on the device",
                           report.streamedUnits, report.weightsOnDeviceUnits, report.onDeviceUnits));
  for (const PlannedTier& tier : report.tiers) {
    console.line(fmt::format("{} memory: {} of {} ({}){}", tier.name, formatBytes(tier.needed), formatBytes(tier.limit),
                             tier.limitOrigin, tier.fits() ? "" : ": TOO SMALL"));
    for (const PlannedCategory& category : tier.categories)
      console.line(fmt::format("  {:<24}{:>12}", category.name, formatBytes(category.bytes)));
  }
}

Result<int> plan(Program& program, const PlanOptions& options) {
  MILLRACE_TRY(const Project project, readProject(program, options.project));
  MILLRACE_TRY(const PlanReport report, planProject(program.files, project, options.project.project, inspectMachine()));
  if (options.json)
    program.console.result(toJson(report).dump(2, ' ', false, OrderedJson::error_handler_t::replace));
  else
    print(program.console, report);
  if (report.fits) return done;
  return failure(ErrorKind::DoesNotFit, fmt::format("{}: {}", options.project.project, report.shortfall));
}

} // namespace

void addPlan(CLI::App& app, Program& program) {
  const auto [command, options] =
      addCommand(app, program, "plan",
                 "Tell whether a project fits, and what it takes of each memory. Reads no data. Exit status 3: it does "
                 "not fit",
                 "millrace plan projects/quickstart.json --set memory.vram_limit=8MiB", &plan);
  addProjectOptions(*command, options->project);
  command->add_flag("--json", options->json, "Print JSON, sizes in bytes");
}

} // namespace millrace::cli
