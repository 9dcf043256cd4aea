#include "runs.h"

#include "compare_runs.h"
#include "engine/run_details.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>

namespace millrace::cli {

namespace {

struct ListOptions {
  std::string folder;
  bool json = false;
};

Json toJson(const RunInfo& run) {
  Json json = {{"name", run.name}, {"path", run.path.string()}, {"outcome", toString(run.outcome)}};
  json["state"] = run.state ? Json(toString(*run.state)) : Json(nullptr);
  json["reason"] = run.reason;
  json["step"] = run.last ? run.last->step : 0;
  json["total_steps"] = run.last && run.last->totalSteps > 0 ? Json(run.last->totalSteps) : Json(nullptr);
  json["loss"] = run.last ? Json(run.last->loss) : Json(nullptr);
  json["changed"] = run.changed;
  return json;
}

Result<int> list(Program& program, const ListOptions& options) {
  Path folder = options.folder;
  if (options.folder.empty()) {
    MILLRACE_TRY(folder, runsFolder());
  } else if (!program.files.isDirectory(folder)) {
    return badInput(fmt::format("{}: there is no such folder", options.folder));
  }
  MILLRACE_TRY(const std::vector<RunInfo> runs, runsIn(program.files, folder));
  if (options.json) {
    Json json = Json::array();
    for (const RunInfo& run : runs) json.push_back(toJson(run));
    program.console.result(json.dump(2, ' ', false, Json::error_handler_t::replace));
    return done;
  }
  if (runs.empty()) program.console.line(fmt::format("no runs in {}", folder.string()));
  const double now = static_cast<double>(std::time(nullptr));
  for (const RunInfo& run : runs) {
    std::string progress = run.last ? "step " + formatCount(run.last->step) : "no step yet";
    if (run.last && run.last->totalSteps > 0) progress += "/" + formatCount(run.last->totalSteps);
    if (run.last) progress += fmt::format(", loss {:.4f}", run.last->loss);
    const std::string age =
        run.changed > 0 ? ", " + formatDuration(std::max(0.0, now - run.changed)) + " ago" : std::string();
    program.console.line(printable(fmt::format("{:<12}{:<24}  {}{}", toString(run.outcome), run.name, progress, age)));
    program.console.line(fmt::format("            {}", run.path.string()));
  }
  return done;
}

struct DeleteOptions {
  std::string run;
  std::vector<std::string> keep;
  bool json = false;
};

Result<int> deleteCheckpointsOf(Program& program, const DeleteOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  KeptCheckpoints keep;
  for (const std::string& which : options.keep) (which == "best" ? keep.best : keep.newest) = true;
  MILLRACE_TRY(const RunInfo run, runInfo(program.files, options.run));
  MILLRACE_TRY(const DeletedCheckpoints result, deleteCheckpoints(program.files, options.run, keep));
  const bool lost = result.kept.empty() && run.outcome != RunOutcome::Finished && !result.deleted.empty();
  if (options.json) {
    console.result(Json({{"deleted", result.deleted}, {"kept", result.kept}, {"bytes_freed", result.freed}}).dump());
    return done;
  }
  console.line(fmt::format("{} of {} checkpoints deleted, {} freed; metrics and samples stay", result.deleted.size(),
                           result.deleted.size() + result.kept.size(), formatBytes(result.freed)));
  if (lost) console.line("the run can only begin anew: its next resume starts at the first step");
  return done;
}

} // namespace

void addRuns(CLI::App& app, Program& program) {
  CLI::App* const group = app.add_subcommand("runs", "Show, compare and tidy up runs");
  group->require_subcommand(1);
  group->footer("Example:\n  millrace runs list --json");
  const auto [command, options] = addCommand(*group, program, "list", "List the runs of a folder, the newest first",
                                             "millrace runs list ~/experiments", &list);
  command->add_option("DIR", options->folder, "Default: $MILLRACE_RUNS or ~/.local/share/millrace/runs");
  command->add_flag("--json", options->json, "Print JSON");
  addCompareRuns(*group, program);
  const auto [removal, removalOptions] =
      addCommand(*group, program, "delete-checkpoints",
                 "Delete the checkpoints of a run that no process works on; its metrics stay",
                 "millrace runs delete-checkpoints ~/runs/goose-1 --keep best", &deleteCheckpointsOf);
  removal->add_option("RUN", removalOptions->run, "Run directory")->required();
  removal
      ->add_option("--keep", removalOptions->keep,
                   "newest: the newest good one, to resume from; best: that with the lowest validation loss. May be "
                   "given twice; default: none is kept")
      ->check(CLI::IsMember({"newest", "best"}))
      ->option_text("newest|best");
  removal->add_flag("--json", removalOptions->json, "Print JSON");
}

} // namespace millrace::cli
