#include "runs.h"

#include "engine/runs.h"

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

} // namespace

void addRuns(CLI::App& app, Program& program) {
  CLI::App* const group = app.add_subcommand("runs", "Show runs");
  group->require_subcommand(1);
  group->footer("Example:\n  millrace runs list --json");
  const auto [command, options] = addCommand(*group, program, "list", "List the runs of a folder, the newest first",
                                             "millrace runs list ~/experiments", &list);
  command->add_option("DIR", options->folder, "Default: $MILLRACE_RUNS or ~/.local/share/millrace/runs");
  command->add_flag("--json", options->json, "Print JSON");
}

} // namespace millrace::cli
