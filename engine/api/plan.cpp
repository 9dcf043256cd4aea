#include "engine/plan.h"

#include "api/plan_advice.h"
#include "api/plan_largest.h"
#include "api/plan_notes.h"
#include "api/plan_outlook.h"
#include "api/planning.h"
#include "device/gpus.h"
#include "model/blocks.h"
#include "project/overrides.h"
#include "project/project_file.h"
#include "project/project_model.h"
#include "run/device_choice.h"
#include "train/rehearsal.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

namespace millrace {

namespace {

/// How far from the prediction a step may be: rates of the machine itself, or of machines like it. No step is faster
/// than its bound at these rates, but the rates themselves err both ways.
constexpr double rehearsedSlack = 0.1;
constexpr double measuredSlack = 0.25;
constexpr double assumedSlack = 0.35;

void add(PlannedTier& tier, std::string_view name, Bytes bytes) {
  if (bytes <= 0) return;
  tier.needed += bytes;
  const auto known = std::find_if(tier.categories.begin(), tier.categories.end(),
                                  [&](const PlannedCategory& category) { return category.name == name; });
  if (known != tier.categories.end())
    known->bytes += bytes;
  else
    tier.categories.push_back({std::string(name), bytes});
}

PlannedTier describeTier(const MemoryPlan& plan, MemoryTier tier, const char* name, const MemoryLimit& limit) {
  PlannedTier described;
  described.name = name;
  described.limit = limit.bytes;
  described.free = limit.free;
  described.limitOrigin = limit.origin;
  for (const Allocation& allocation : plan.allocations)
    if (allocation.tier == tier) add(described, toString(allocation.category), allocation.bytes);
  return described;
}

std::vector<PlannedTier> describeTiers(const Planning& planning, const Project& project, const ModelSpec& spec,
                                       const PlanOutcome& outcome) {
  const MemoryPlan& memory = outcome.step.memory;
  std::vector<PlannedTier> tiers = {
      describeTier(memory, MemoryTier::Device, "vram", outcome.limits.device),
      describeTier(memory, MemoryTier::Host, "ram", outcome.limits.host),
      describeTier(memory, MemoryTier::Disk, "nvme", outcome.limits.disk),
  };
  const HardwareProfile& profile = planning.profile();
  if (planning.target().gpu >= 0) {
    const GpuFacts& gpu = profile.nvidia.gpus[static_cast<std::size_t>(planning.target().gpu)];
    add(tiers[0], "driver context", planning.driverBytes());
    if (tiers[0].limit > 0) tiers[0].limit += planning.driverBytes();
    tiers[0].others = std::max<Bytes>(0, gpu.memoryTotal - gpu.memoryFree);
  }
  const Bytes program = planning.programBytes(project, spec);
  add(tiers[1], "program", program);
  tiers[1].limit += program;
  if (profile.name.empty()) tiers[1].others = std::max<Bytes>(0, profile.memory.total - profile.memory.available);
  return tiers;
}

PlannedPlacement describePlacement(const PlannedStep& step) {
  const RunShape& shape = step.memory.shape;
  PlannedPlacement placement;
  placement.recompute = toString(shape.recompute);
  placement.group = shape.group;
  placement.slots = shape.slots;
  placement.offloadActivations = shape.offloadActivations;
  const auto count = [&](UnitHome home) {
    return std::count(step.memory.homes.begin(), step.memory.homes.end(), home);
  };
  placement.streamed = count(UnitHome::Host);
  placement.weightsOnDevice = count(UnitHome::WeightsOnDevice);
  placement.onDevice = count(UnitHome::Device);
  placement.momentsOnDisk = count(UnitHome::MomentsOnDisk);
  placement.onDisk = count(UnitHome::Disk);
  placement.held = shape.heldLayers;
  if (step.work.hostUpdates > 0) placement.updatedOnDevice = step.time.updatedOnDevice / step.work.hostUpdates;
  return placement;
}

PlannedTime describeTime(const Planning& planning, const PlannedStep& step, double tokensPerStep, bool measured) {
  PlannedTime time;
  time.stepSeconds = step.time.seconds;
  time.boundSeconds = step.time.bound;
  time.measured = measured;
  time.tokensPerSecond = tokensPerStep / time.stepSeconds;
  const double slack = measured ? measuredSlack : assumedSlack;
  time.low = time.tokensPerSecond / (1 + slack);
  time.high = time.tokensPerSecond * (1 + slack);
  time.bottleneck = toString(step.time.bottleneck);
  for (std::size_t i = 0; i < stepResources; ++i)
    time.resources.push_back({std::string(toString(static_cast<StepResource>(i))), step.time.busy[i]});
  time.computeBindsFrom = step.computeBindsFrom * planning.target().gpus;
  return time;
}

/// A rehearsal takes at most this share of free memory, and about so long a step.
constexpr Bytes rehearsalShare = 4;
constexpr double rehearsalSeconds = 1;

/// The step's time with its compute as timed here and now. What is too large to be timed is a note.
Status rehearseReport(const Planning& planning, PlanOutcome& outcome, const ModelSpec& spec, const StepRates& rates,
                      PlanReport& report) {
  const bool gpu = planning.target().gpu >= 0;
  if (!planning.profile().name.empty() || planning.target().gpus > 1 || (gpu && cudaRelease() == 0))
    return badInput("--rehearse times layers on this machine: it goes with no other machine, with one GPU at most and "
                    "with none that this program was not built for");
  PlannedStep& step = outcome.step;
  const RunShape& shape = step.memory.shape;
  ThreadPool pool(rates.threads);
  const Bytes free = gpu ? planning.profile().nvidia.gpus[static_cast<std::size_t>(planning.target().gpu)].memoryFree
                         : planning.usableNow();
  const RehearsalLimits limits{std::min(free, planning.usableNow()) / rehearsalShare,
                               rates.products * rehearsalSeconds};
  DeviceChoice choice;
  choice.gpu = planning.target().gpu;
  const DeviceOpener open = [&](Bytes device, Bytes host) {
    return openChosen(choice, planning.profile(), pool, device, host);
  };
  Result<Rehearsal> rehearsal = failed("");
  try {
    rehearsal = rehearse(open, pool, spec, shape, limits);
  } catch (const EngineException& problem) {
    rehearsal = tl::unexpected<Error>(problem.error());
  }
  if (!rehearsal) {
    report.notes.push_back("not rehearsed: " + rehearsal.error().message);
    return {};
  }
  step.work = withRehearsal(step.work, *rehearsal, spec, shape);
  const double computeBindsFrom = report.time.computeBindsFrom;
  step.time = predictStep(step.work, rates, shape.updateSlots > 0);
  report.time = describeTime(planning, step, static_cast<double>(report.tokensPerStep), true);
  // Predicted at other rates than those that the rehearsal found: told where both agree.
  const bool binds = step.time.computeBinds;
  if (binds == (computeBindsFrom <= static_cast<double>(report.tokensPerStep)))
    report.time.computeBindsFrom = computeBindsFrom;
  else
    report.time.computeBindsFrom = 0;
  report.time.rehearsed = true;
  report.time.low = report.time.tokensPerSecond / (1 + rehearsedSlack);
  report.time.high = report.time.tokensPerSecond * (1 + rehearsedSlack);
  return {};
}

} // namespace

std::string_view toString(Verdict verdict) {
  switch (verdict) {
  case Verdict::Fits:
    return "fits";
  case Verdict::Tight:
    return "tight";
  case Verdict::DoesNotFit:
    return "does_not_fit";
  }
  return "unknown";
}

Result<PlanReport> planProject(FileSystem& files, const Project& project, const std::string& source,
                               const HardwareProfile& profile, const PlanOptions& options) {
  MILLRACE_TRY(const ModelSpec spec, readProjectModel(files, project, source));
  MILLRACE_TRY(const Planning planning, Planning::create(files, project, source, profile, options));
  MILLRACE_TRY(PlanOutcome outcome, planning.plan(project, spec));
  PlannedStep& step = outcome.step;
  const TrainingConfig& training = project.training;
  const auto threads = static_cast<int>(computeThreads(project, planning.profile()));
  const StepRates rates = stepRates(planning.profile(), training.precision, planning.target().gpu, threads);

  PlanReport report;
  report.project = project.name;
  report.machine = planning.profile().name;
  report.gpus = planning.target().gpu < 0 ? 0 : planning.target().gpus;
  report.device =
      report.gpus == 0 ? "cpu" : planning.profile().nvidia.gpus[static_cast<std::size_t>(planning.target().gpu)].name;
  report.parameters = parameterCount(spec);
  report.layers = static_cast<std::int64_t>(spec.layers.size());
  report.tokensPerStep = training.tokensPerStep();
  report.microBatches = training.microBatches;
  report.precision = training.precision;
  report.clip = training.clip;
  report.stateBytes = 12 * report.parameters;
  report.peakStateBytes = report.stateBytes + report.parameters * (training.clip == ClipMode::Exact       ? 4
                                                                   : training.clip == ClipMode::ExactBf16 ? 2
                                                                                                          : 0);
  report.placement = describePlacement(step);
  report.tiers = describeTiers(planning, project, spec, outcome);
  report.time = describeTime(planning, step, static_cast<double>(report.tokensPerStep), rates.measured);
  const double predicted = report.time.stepSeconds;
  if (options.rehearse) MILLRACE_CHECK(rehearseReport(planning, outcome, spec, rates, report));
  Judgement judgement = judge(planning, project, spec, outcome, options, report.time.stepSeconds);
  report.verdict = judgement.verdict;
  report.reasons = std::move(judgement.reasons);
  report.run = std::move(judgement.run);
  if (options.advice) {
    report.largest = largestOf(planning, project, spec);
    report.advice = adviceFor(planning, project, spec, report, options, report.time.stepSeconds / predicted);
  }
  std::vector<std::string> notes = notesOf(planning, project, options, step, rates, report);
  report.notes.insert(report.notes.begin(), notes.begin(), notes.end()); // before what the rehearsal had to say
  return report;
}

Result<Project> projectOfModel(FileSystem& files, const std::string& name, const ModelSource& model, bool gpu,
                               const std::vector<std::string>& settings) {
  Project project;
  project.name = name;
  project.model = model;
  project.training.context = 1; // any model has as many positions
  MILLRACE_TRY(const ModelSpec spec, readProjectModel(files, project, name));
  TrainingConfig& training = project.training;
  training.context = std::min<std::int64_t>(spec.maxPositions, gpu ? 2048 : 512);
  training.microBatch = 1;
  training.microBatches = gpu ? 65536 / training.context : 8;
  training.precision = gpu ? Precision::Bf16 : Precision::Fp32;
  training.length = {LengthUnit::Tokens, 20 * static_cast<double>(parameterCount(spec))};
  // These stand for some; planning reads none.
  project.data.sources = {{{Path("/data")}, DataFormat::Text, {}, {}}};
  project.tokenizer = TokenizerFile{Path("/tokenizer.json")};
  // What is left to its default is not written: settings on top of that could contradict it.
  const Json whole = projectToJson(project);
  Json json = {{"format", whole["format"]},
               {"name", whole["name"]},
               {"model", whole["model"]},
               {"tokenizer", whole["tokenizer"]},
               {"data", {{"sources", whole["data"]["sources"]}}}};
  for (const char* key : {"context", "micro_batch", "micro_batches", "precision", "tokens"})
    json["training"][key] = whole["training"][key];
  MILLRACE_CHECK(applyOverrides(json, settings));
  std::error_code problem; // without a current folder relative paths are left as they are
  return projectFromJson(json, name, std::filesystem::current_path(problem));
}

Result<Project> projectOfModel(FileSystem& files, const std::string& name, const ModelSource& model,
                               const HardwareProfile& machine, int gpus, const std::vector<std::string>& settings) {
  MILLRACE_TRY(Project project, projectOfModel(files, name, model, true, settings));
  if (computesOnGpu(project, machine, gpus)) return project;
  return projectOfModel(files, name, model, false, settings);
}

} // namespace millrace
