#include "hw.h"

#include "checks.h"
#include "engine/hardware.h"
#include "engine/machines.h"
#include "engine/probe.h"
#include "engine/runs.h"

namespace millrace::cli {

namespace {

struct HwOptions {
  std::vector<std::string> folders;
  std::string machine;
  std::string save;
  bool force = false;
  bool json = false;
};

Result<HardwareProfile> chosenMachine(Program& program, const HwOptions& options) {
  if (!options.machine.empty()) return findMachine(program.files, options.machine);
  std::vector<Path> folders(options.folders.begin(), options.folders.end());
  if (folders.empty())
    if (const auto runs = runsFolder()) folders.push_back(*runs); // where nothing else is said, runs go there
  HardwareProfile profile = withCachedRates(program.files, inspectMachine(folders));
  for (int gpu = 0; gpu < static_cast<int>(profile.nvidia.gpus.size()); ++gpu)
    profile = withCachedRates(program.files, std::move(profile), 0, gpu);
  return profile;
}

Result<int> hw(Program& program, const HwOptions& options) {
  MILLRACE_TRY(const HardwareProfile profile, chosenMachine(program, options));
  if (!options.save.empty()) MILLRACE_CHECK(saveMachine(program.files, options.save, profile, options.force));
  // Names of processes, models and files' texts are other people's.
  std::string text = options.json ? hardwareJson(profile) : printable(hardwareReport(profile));
  while (text.ends_with('\n')) text.pop_back();
  program.console.result(text);
  return done;
}

} // namespace

void addHw(CLI::App& app, Program& program) {
  const auto [command, options] = addCommand(
      app, program, "hw", "Show what this machine has and how much of it runs may take, and why a GPU is not used",
      "millrace hw --json\n  millrace hw --machine rtx-4090", &hw);
  CLI::Option* const folders =
      command->add_option("FOLDER", options->folders, "Folders whose disks to show; default: where runs go");
  std::string names;
  for (const std::string& name : machineNames()) names += (names.empty() ? "" : ", ") + name;
  command
      ->add_option("--machine", options->machine,
                   "Show a machine that is described by a file, or one of these: " + names)
      ->type_name("NAME|FILE")
      ->check(notEmpty("the name or the file of a machine"))
      ->excludes(folders);
  CLI::Option* const save =
      command->add_option("--save", options->save, "Write the machine to a file, to edit or to plan for elsewhere")
          ->type_name("FILE")
          ->check(notEmpty("a file's name"));
  command->add_flag("--force", options->force, "Let --save replace a machine file that is there")->needs(save);
  command->add_flag("--json", options->json, "Print JSON, sizes in bytes");
}

} // namespace millrace::cli
