#include "watch.h"

#include "checks.h"
#include "engine/runs.h"
#include "run_display.h"

#include <fmt/format.h>

namespace millrace::cli {

namespace {

struct WatchCommandOptions {
  std::string directory;
  std::int64_t fromStep = 0;
  double wait = WatchOptions().patienceSeconds;
  bool json = false;
};

Result<int> watch(Program& program, const WatchCommandOptions& options) {
  Console& console = program.console;
  if (options.json) console.reserveOutput();
  WatchOptions how;
  how.fromStep = options.fromStep;
  how.patienceSeconds = options.wait;
  how.onKilled = [&](const std::string& reason) {
    console.line(fmt::format("{}; waiting {} for it to be resumed", reason, formatDuration(options.wait)));
  };
  MILLRACE_TRY(const std::unique_ptr<RunWatch> run, RunWatch::open(program.files, options.directory, how));
  RunDisplay display(console);
  while (!console.out().closed()) {
    MILLRACE_TRY(const std::optional<RunEvent> event, run->next());
    if (!event) break;
    display.show(*event);
  }
  display.finish();
  if (options.json) return done;
  MILLRACE_TRY(const RunInfo info, runInfo(program.files, options.directory));
  console.line(fmt::format("{}{}{}", toString(info.outcome), info.reason.empty() ? "" : ": ", info.reason));
  return done;
}

} // namespace

void addWatch(CLI::App& app, Program& program) {
  const auto [command, options] =
      addCommand(app, program, "watch", "Follow a run, live or finished, until it ends",
                 "millrace watch ~/.local/share/millrace/runs/quickstart --from-step 100", &watch);
  command->add_option("RUN_DIR", options->directory, "Directory of the run")->required();
  command->add_option("--from-step", options->fromStep, "The first step to show; default: all")
      ->option_text("N")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--wait", options->wait,
                   "When the run is killed: how long to wait for it to be resumed; default: 20")
      ->option_text("SECONDS")
      ->transform(numberFrom(0, 1e9));
  command->add_flag("--json", options->json, "Print events as JSON lines");
}

} // namespace millrace::cli
