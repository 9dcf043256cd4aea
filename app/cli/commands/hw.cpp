#include "hw.h"

#include "engine/hardware.h"
#include "engine/runs.h"

namespace millrace::cli {

namespace {

struct HwOptions {
  std::vector<std::string> folders;
  bool json = false;
};

Result<int> hw(Program& program, const HwOptions& options) {
  std::vector<Path> folders(options.folders.begin(), options.folders.end());
  if (folders.empty())
    if (const auto runs = runsFolder()) folders.push_back(*runs); // where nothing else is said, runs go there
  const HardwareProfile profile = inspectMachine(folders);
  std::string text = options.json ? hardwareJson(profile) : hardwareReport(profile);
  while (text.ends_with('\n')) text.pop_back();
  program.console.result(text);
  return done;
}

} // namespace

void addHw(CLI::App& app, Program& program) {
  const auto [command, options] = addCommand(
      app, program, "hw", "Show what this machine has, and why a GPU is not used", "millrace hw --json", &hw);
  command->add_option("FOLDER", options->folders, "Folders whose disks to show; default: where runs go");
  command->add_flag("--json", options->json, "Print JSON, sizes in bytes");
}

} // namespace millrace::cli
