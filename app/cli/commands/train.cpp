#include "train.h"

#include "engine/branch.h"
#include "engine/hardware.h"
#include "engine/plan.h"
#include "engine/runs.h"
#include "project_options.h"
#include "run_session.h"
#include "sized_project.h"

#include <ctime>
#include <fmt/format.h>

namespace millrace::cli {

namespace {

struct TrainOptions {
  ProjectOptions project;
  SizedTraining sized;
  std::string directory;
  std::string branch;
  std::int64_t branchStep = -1; ///< -1: the newest
  bool resumeOrStart = false;
  bool replace = false;
  bool json = false;
};

/// Of a file, or of a size.
Result<Project> chosenProject(Program& program, TrainOptions options) {
  const bool sized = options.sized.modelSize != 0;
  if (sized) takeProjectForSetting(options.project);
  if (sized != options.project.project.empty())
    return badInput("give one of PROJECT, a file, and --model-size: what is to be trained?");
  if (sized) return sizedProject(program, options.sized, inspectMachine(), settingsOf(options.project));
  for (const auto& [option, given] : {std::pair{"--data", !options.sized.data.empty()},
                                      {"--offload-dir", !options.sized.offloadDirectories.empty()},
                                      {"--vram-limit", !options.sized.vramLimit.empty()},
                                      {"--ram-limit", !options.sized.ramLimit.empty()}})
    if (given)
      return badInput(fmt::format("{} goes with --model-size; the project file says the same with --set", option));
  return readProject(program, options.project);
}

Result<Path> directoryFor(Program& program, const TrainOptions& options, const Project& project) {
  if (!options.directory.empty()) return Path(options.directory);
  MILLRACE_TRY(const Path folder, runsFolder());
  // A run that is to be found again has a fixed name.
  if (options.resumeOrStart) return folder / project.name;
  return newRunDirectory(program.files, folder, project, static_cast<double>(std::time(nullptr)));
}

Result<std::optional<BranchPoint>> branchPoint(Program& program, const TrainOptions& options, const Project& project) {
  std::optional<BranchPoint> branch;
  if (options.branch.empty()) {
    if (options.branchStep >= 0) return badInput("--branch-step goes with --branch, the run that has the checkpoint");
    return branch;
  }
  branch = BranchPoint{options.branch, options.branchStep};
  if (branch->step < 0) {
    MILLRACE_TRY(const RunInfo run, runInfo(program.files, options.branch));
    if (run.checkpointSteps.empty())
      return badInput(fmt::format("{}: the run has no checkpoint to begin from", options.branch));
    branch->step = run.checkpointSteps.back();
  }
  MILLRACE_CHECK(checkBranch(program.files, *branch, project));
  return branch;
}

Result<int> train(Program& program, const TrainOptions& options) {
  using enum StartDecision::Action;
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  MILLRACE_TRY(const Project project, chosenProject(program, options));
  const std::string source = options.sized.modelSize != 0 ? project.name : options.project.project;
  MILLRACE_TRY(const Path directory, directoryFor(program, options, project));
  StartDecision decision;
  if (options.resumeOrStart && !options.replace) {
    MILLRACE_TRY(decision, decideStart(program.files, directory, project));
  }
  if (decision.settingsDiffer)
    console.line("the settings differ from those that this run was started with, which hold; to start anew with these, "
                 "add --replace to the command");
  if (decision.action == Finished) {
    console.line("this run has finished already");
    if (!options.json) describeRun(program, directory, true);
    return done;
  }
  const bool resume = decision.action == Resume;
  if (!resume) {
    // A run that cannot be is not begun: no folder of it is left.
    // Checkpoints go beside the run's folder, which is not there yet.
    std::vector<Path> folders{directory.parent_path()};
    folders.insert(folders.end(), project.memory.nvme.directories.begin(), project.memory.nvme.directories.end());
    const HardwareProfile machine = inspectMachine(folders);
    PlanOptions quick;
    quick.advice = false;
    MILLRACE_TRY(const PlanReport plan, planProject(program.files, project, source, machine, quick));
    if (!plan.fits()) return failure(ErrorKind::DoesNotFit, fmt::format("{}: {}", source, plan.reasons.front()));
  }
  std::optional<BranchPoint> branch;
  if (!resume) {
    MILLRACE_TRY(branch, branchPoint(program, options, project));
  }
  if (decision.action == Restart) console.line("this run ended before its first checkpoint: it begins anew");
  console.line(fmt::format("{} {}", resume ? "going on with the run in" : "run:", directory.string()));
  return carryThrough(program, {directory, options.json}, [&](RunOptions run) {
    if (resume) return Run::resume(program.files, run);
    run.branch = branch;
    run.replaceExisting = options.replace || decision.action == Restart;
    return Run::start(program.files, project, run);
  });
}

} // namespace

void addTrain(CLI::App& app, Program& program) {
  const auto [command, options] =
      addCommand(app, program, "train", "Train a model as a project file says",
                 "millrace train projects/quickstart.json --set training.steps=50\n"
                 "  millrace train --model-size 101e9 --offload-dir /nvme --data corpus.txt",
                 &train);
  addProjectOptions(*command, options->project, true);
  addSizedTraining(*command, options->sized);
  command
      ->add_option("--run-dir", options->directory,
                   "Where the run goes. Default: a new folder in $MILLRACE_RUNS or ~/.local/share/millrace/runs")
      ->option_text("DIR");
  command
      ->add_option("--branch", options->branch,
                   "Begin from a checkpoint of this run: its weights, moments, step and place in the data. Model, "
                   "tokenizer, data, context, precision and seed must be the same; the rest may change")
      ->option_text("RUN");
  command->add_option("--branch-step", options->branchStep, "The checkpoint's step. Default: the newest")
      ->check(CLI::NonNegativeNumber)
      ->option_text("STEP");
  command->add_flag("--resume-or-start", options->resumeOrStart,
                    "Go on with the project's interrupted run, or start it where there is none; says "
                    "so when it has finished. May be repeated until it has");
  command->add_flag("--replace", options->replace, "Remove a run that stands in that folder first");
  command->add_flag("--json", options->json, "Print events as JSON lines");
}

} // namespace millrace::cli
