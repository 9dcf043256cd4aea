#include "resume.h"

#include "run_session.h"

namespace millrace::cli {

namespace {

struct ResumeOptions {
  std::string directory;
  bool json = false;
};

Result<int> resume(Program& program, const ResumeOptions& options) {
  if (options.json) program.console.reserveOutput();
  return carryThrough(program, {options.directory, options.json},
                      [&](const RunOptions& run) { return Run::resume(program.files, run); });
}

} // namespace

void addResume(CLI::App& app, Program& program) {
  const auto [command, options] = addCommand(app, program, "resume", "Go on with a run from its newest good checkpoint",
                                             "millrace resume ~/.local/share/millrace/runs/quickstart", &resume);
  command->add_option("RUN_DIR", options->directory, "Directory of the run")->required();
  command->add_flag("--json", options->json, "Print events as JSON lines");
}

} // namespace millrace::cli
