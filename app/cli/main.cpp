// millrace: trains language models from project files, headless. Parses the command line, carries out one command, and
// turns its outcome into a message and an exit code.
#include "command.h"
#include "commands.h"
#include "engine/runs.h" // nearestWord

#include <csignal>
#include <cstring>
#include <fmt/format.h>

using namespace millrace;
using namespace millrace::cli;

namespace {

/// The command that was chosen last, and how it is called.
std::pair<const CLI::App*, std::string> chosenCommand(const CLI::App& app) {
  const CLI::App* chosen = &app;
  std::string name = app.get_name();
  while (!chosen->get_subcommands().empty()) {
    chosen = chosen->get_subcommands().front();
    name += " " + chosen->get_name();
  }
  return {chosen, name};
}

/// What is wrong with the command line, in one line.
std::string usageMessage(const CLI::ParseError& problem, const CLI::App& app) {
  const auto [chosen, name] = chosenCommand(app);
  const std::vector<std::string> unused = chosen->remaining();
  std::string message = problem.what();
  if (chosen->get_require_subcommand_min() > 0 && !unused.empty()) { // CLI11 would only say that a command is missing
    const bool option = unused.front().starts_with("-");
    message = fmt::format("there is no {} '{}'", option ? "option" : "command", unused.front());
    std::vector<std::string> commands;
    for (const CLI::App* command : chosen->get_subcommands({})) commands.push_back(command->get_name());
    if (const auto nearest = nearestWord(unused.front(), commands); nearest && !option)
      message += fmt::format("; did you mean '{}'?", *nearest);
  }
  for (char& c : message)
    if (c == '\n') c = ' ';
  return fmt::format("{} (see: {} --help)", message, name);
}

int carryOut(Program& program) {
  try {
    const Result<int> result = program.action();
    if (result) return *result;
    program.console.error(result.error().message);
    return exitCodeOf(result.error().kind);
  } catch (const EngineException& problem) {
    program.console.error(problem.what());
    return exitCodeOf(problem.error().kind);
  } catch (const std::bad_alloc&) {
    program.console.error("out of memory");
  } catch (const std::exception& problem) {
    program.console.error(fmt::format("unexpected: {}", problem.what()));
  }
  return failedWhileRunning;
}

} // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN); // a reader that goes away ends the output, not the work
  std::signal(SIGXFSZ, SIG_IGN); // a limit on file sizes is an error of the write, told like any other
  LocalFileSystem files;
  Console console;
  Program program{files, console};
  CLI::App app("Trains language models larger than the GPU's memory, at full precision, on one machine.", "millrace");
  app.set_version_flag("--version", "millrace " MILLRACE_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer("Every command has --help with an example. Exit status: 0 done, 1 failed while running, 2 bad input or\n"
             "usage, 3 does not fit, 4 interrupted after saving.");
  addCommands(app, program);

  int code = done;
  try {
    app.parse(argc, argv);
    code = carryOut(program);
  } catch (const CLI::Success& wanted) { // --help, --version
    const bool version = dynamic_cast<const CLI::CallForVersion*>(&wanted) != nullptr;
    console.out().write(version ? std::string(wanted.what()) + "\n" : app.help());
  } catch (const CLI::ParseError& problem) {
    console.error(usageMessage(problem, app));
    code = badInputOrUsage;
  }
  console.endProgress();
  console.flush();
  if (const int problem = console.out().error();
      problem && (code == done || code == doesNotFit) && program.outputIsResult) {
    console.error(fmt::format("cannot write to standard output: {}", std::strerror(problem)));
    code = failedWhileRunning;
  }
  return code;
}
